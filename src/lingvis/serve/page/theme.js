// Light, dark, or as the system says.

import { byId, make, memory } from "./dom.js";
import { say } from "./texts.js";

const THEMES = { auto: "themeAuto", light: "themeLight", dark: "themeDark" };

const chosen = () => (memory.get("theme") in THEMES ? memory.get("theme") : "auto");

function wear(theme) {
  document.documentElement.dataset.theme = theme;
}

/** Name the choices in the interface language. */
export function nameThemes() {
  byId("theme").replaceChildren(
    ...Object.entries(THEMES).map(([value, key]) => make("option", { value, selected: value === chosen() }, say(key))),
  );
}

wear(chosen());
byId("theme").addEventListener("change", (event) => {
  memory.set("theme", event.target.value === "auto" ? "" : event.target.value);
  wear(event.target.value);
});
