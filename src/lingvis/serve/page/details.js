// What is known of a picture: when, how large, by which camera and where; score and path behind.

import { make, memory } from "./dom.js";
import { nameOf, score } from "./grid.js";
import { icon } from "./icons.js";
import { clock, isMoment } from "./moments.js";
import { bytes, date, label, number, say } from "./texts.js";

/** @param {import("./grid.js").Hit} hit @param {{onMap: (area: string) => void}} calls */
export function details(hit, { onMap }) {
  const placed = hit.latitude !== null && hit.latitude !== undefined;
  const first = [
    ["date", hit.date && date(hit.date)],
    ["moment", moment(hit)],
    ["pixels", `${number(hit.width)} × ${number(hit.height)}`],
    ["size", `${bytes(hit.size)} · ${hit.format.toUpperCase()}`],
    ["camera", hit.camera],
    ["place", placed ? placeButton(hit, onMap) : null],
  ];
  const behind = make(
    "details", { class: "behind", open: memory.get("details") === "open" },
    make("summary", {}, say("details")),
    list([["score", hit.score === undefined ? undefined : score(hit.score)], ["name", make("bdi", { dir: "ltr" }, nameOf(hit.path))]]),
    make("h3", {}, say("path")),
    make("p", { class: "place" }, make("code", { dir: "ltr" }, hit.path), copyButton(hit.path)),
  );
  behind.addEventListener("toggle", () => memory.set("details", behind.open ? "open" : ""));
  const fragment = document.createDocumentFragment();
  fragment.append(list(first), behind);
  return fragment;
}

const moment = (hit) => isMoment(hit) && make("bdi", { dir: "ltr" }, [hit.second, hit.duration].filter((each) => each !== null && each !== undefined).map(clock).join(" / "));

const list = (rows) => make("dl", {}, ...rows.filter(([, value]) => value).flatMap(([key, value]) => [make("dt", {}, say(key)), make("dd", {}, value)]));

function placeButton({ latitude, longitude }, onMap) {
  const degrees = (value, [positive, negative]) => `${number(Math.abs(value), { maximumFractionDigits: 4 })}° ${value < 0 ? negative : positive}`;
  const around = [latitude - 0.1, longitude - 0.1, latitude + 0.1, longitude + 0.1];
  const bounded = around.map((value, place) => Math.min(Math.max(value, place % 2 ? -180 : -90), place % 2 ? 180 : 90).toFixed(4));
  const shown = `${degrees(latitude, ["N", "S"])}, ${degrees(longitude, ["E", "W"])}`;
  const made = make("button", { type: "button", class: "link", "data-role": "place", click: () => onMap(bounded.join(",")) }, make("bdi", {}, shown));
  label(made, `${shown}. ${say("onMap")}`);
  return made;
}

function copyButton(path) {
  const made = make("button", { type: "button", class: "round copy", "data-role": "copy" }, icon("copy"));
  label(made, say("copy"));
  made.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(path);
    } catch {
      getSelection().selectAllChildren(made.previousElementSibling); // no clipboard without https: Ctrl+C does it
      return;
    }
    label(made, say("copied"));
    made.classList.add("done");
    made.parentElement.querySelector("[role=status]").textContent = say("copied");
  });
  const wrapped = document.createDocumentFragment();
  wrapped.append(made, make("span", { class: "unseen", role: "status" }));
  return wrapped;
}
