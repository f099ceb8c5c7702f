// What stands in place of results: a greeting, an empty answer, a refusal with the way out.

import { closeSession, openSession } from "./api.js";
import { byId, make, memory } from "./dom.js";
import { say } from "./texts.js";

const notice = byId("notice");

export function clearNotice() {
  notice.hidden = true;
  notice.replaceChildren();
}

/** @param {string} title @param {string} text @param {...Node} rest */
export function showNotice(title, text, ...rest) {
  notice.removeAttribute("role");
  notice.replaceChildren(make("h2", {}, title), make("p", { dir: "auto" }, text), ...rest);
  notice.hidden = false;
}

/** One line that screen readers hear, too. @param {string} text */
export function tellStatus(text) {
  byId("status").textContent = text;
}

/** @param {number} seconds */
export const tellBusy = (seconds) => tellStatus(say("busy", { n: seconds }));

/**
 * Say what went wrong and offer the next step.
 * @param {import("./api.js").Refused} refused @param {() => void} again
 */
export function showRefusal(refused, again) {
  tellStatus("");
  if (refused.status === 401) showTokenForm(again);
  else if (refused.status === 0) showNotice(say("offlineTitle"), say("offlineText"), retryButton(again));
  else if (refused.status >= 500 || refused.status === 429) showNotice(say("errorTitle"), refused.message, retryButton(again));
  else showNotice(say("errorTitle"), refused.message);
  notice.setAttribute("role", "alert");
}

const retryButton = (again) => make("button", { type: "button", class: "primary", click: again }, say("retry"));

function showTokenForm(again) {
  if (notice.querySelector(".token")) return; // it is there already, perhaps half filled in
  const field = make("input", { type: "password", name: "token", autocomplete: "current-password", required: true, dir: "ltr" });
  const problem = make("p", { class: "problem", role: "alert", dir: "auto" });
  const submit = async (event) => {
    event.preventDefault();
    try {
      await openSession(field.value);
    } catch (refused) {
      problem.textContent = refused.status ? refused.message : say("offlineTitle");
      field.select();
      return;
    }
    remember("1");
    clearNotice();
    again();
  };
  const form = make(
    "form", { class: "token", submit },
    make("label", {}, make("span", {}, say("token")), field),
    make("button", { class: "primary" }, say("enter")),
    problem,
  );
  showNotice(say("tokenTitle"), say("tokenText"), form);
  field.focus();
}

function remember(value) {
  memory.set("token", value);
  byId("forget").hidden = !value;
}

byId("forget").hidden = !memory.get("token");
byId("forget").addEventListener("click", async () => {
  remember("");
  await closeSession().catch(() => {}); // the reload shows whether the server is there
  location.reload();
});

addEventListener("online", () => notice.querySelector("button.primary:not(.token *)")?.click());
