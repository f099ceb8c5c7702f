// The large view: one picture, what is known of it, its neighbours, and others like it.

import { pictureUrl, thumbnailUrl } from "./api.js";
import { byId, make } from "./dom.js";
import { nameOf, score } from "./grid.js";
import { icon } from "./icons.js";
import { load } from "./patient.js";
import { bytes, date, label, number, say } from "./texts.js";

/** @typedef {import("./grid.js").Hit} Hit */

export class Viewer {
  /** @param {{step: (by: number) => void, similar: (id: string) => void, closed: () => void}} calls */
  constructor(calls) {
    this.calls = calls;
    this.dialog = byId("viewer");
    this.dialog.addEventListener("close", () => {
      if (!this.dialog.open) calls.closed();
    });
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("keydown", (event) => this.#key(event));
  }

  /** @param {Hit} hit @param {{first: boolean, last: boolean}} place among its neighbours */
  show(hit, place) {
    const held = this.dialog.contains(document.activeElement) ? document.activeElement.dataset.role : undefined;
    this.dialog.replaceChildren(this.#stage(hit, place), this.#facts(hit));
    label(this.dialog, nameOf(hit.path));
    if (!this.dialog.open) this.dialog.showModal();
    const wanted = held && this.dialog.querySelector(`[data-role="${held}"]:not(:disabled)`);
    (wanted || this.dialog.querySelector('[data-role="close"]')).focus();
  }

  close() {
    if (this.dialog.open) this.dialog.close();
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const mirrored = getComputedStyle(this.dialog).direction === "rtl";
    const by = { ArrowRight: mirrored ? -1 : 1, ArrowLeft: mirrored ? 1 : -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    this.calls.step(by);
  }

  #stage(hit, { first, last }) {
    // The thumbnail is there at once; the picture takes its place when it has come.
    const shown = make("img", { src: thumbnailUrl(hit.id, hit.hash), alt: hit.note ?? nameOf(hit.path), width: hit.width, height: hit.height });
    // Small pictures are not blown up to a blur.
    [shown.style.maxWidth, shown.style.maxHeight] = [`${2 * hit.width}px`, `${2 * hit.height}px`];
    const gone = make("p", { class: "gone", role: "status" });
    const large = new Image();
    large.onload = () => (shown.src = large.src);
    load(large, pictureUrl(hit.id), { wanted: () => shown.isConnected, missing: () => (gone.textContent = say("gone")) });
    return make(
      "div", { class: "stage" },
      shown, gone,
      button("previous", () => this.calls.step(-1), { disabled: first }),
      button("next", () => this.calls.step(1), { disabled: last }),
    );
  }

  #facts(hit) {
    const rows = [
      ["score", hit.score === undefined ? undefined : score(hit.score)],
      ["date", hit.date && date(hit.date)],
      ["pixels", `${number(hit.width)} × ${number(hit.height)}`],
      ["size", bytes(hit.size)],
      ["format", hit.format.toUpperCase()],
    ].filter(([, value]) => value);
    const note = hit.note && make("blockquote", { dir: "auto", lang: hit.lang ?? "" }, hit.note);
    const similar = { type: "button", class: "primary", "data-role": "similar", click: () => this.calls.similar(hit.id) };
    return make(
      "aside", {},
      button("close", () => this.close()),
      make("h2", {}, make("bdi", { dir: "ltr" }, nameOf(hit.path))),
      note,
      make("dl", {}, ...rows.flatMap(([key, value]) => [make("dt", {}, say(key)), make("dd", {}, value)])),
      make("h3", {}, say("path")),
      make("p", { class: "place" }, make("code", { dir: "ltr" }, hit.path), copyButton(hit.path)),
      make(
        "p", { class: "actions" },
        make("button", similar, icon("similar"), say("similar")),
        make("a", { class: "plain", href: pictureUrl(hit.id), target: "_blank", rel: "noopener" }, icon("open"), say("original")),
      ),
    );
  }
}

function button(role, click, properties = {}) {
  const made = make("button", { type: "button", class: `round ${role}`, "data-role": role, click, ...properties }, icon(role));
  label(made, say(role));
  return made;
}

function copyButton(path) {
  const made = button("copy", async () => {
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
