// Choosing several pictures: by their corners, with Shift, by keys, or by a long press.

import { byId } from "./dom.js";

const LONG = 450; // milliseconds of a long press
const STILL = 10; // pixels that a finger may move meanwhile

export class Selection {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    /** Hashes by id. @type {Map<string, string>} */
    this.chosen = new Map();
    this.anchor = "";
    this.area = byId("results");
    this.area.addEventListener("click", (event) => this.#click(event), { capture: true });
    this.area.addEventListener("keydown", (event) => this.#key(event));
    this.#listenForPresses();
    new MutationObserver(() => this.mark()).observe(this.area, { childList: true, subtree: true });
  }

  /** @returns {import("./albums.js").Picture[]} */
  get pictures() {
    return [...this.chosen].map(([id, hash]) => ({ id, hash }));
  }

  get tiles() {
    return [...this.area.querySelectorAll(".tile[data-hash]")].filter((tile) => !tile.closest("#compare"));
  }

  clear() {
    this.chosen.clear();
    this.anchor = "";
    this.#tell();
  }

  all() {
    for (const tile of this.tiles) this.chosen.set(tile.dataset.id, tile.dataset.hash);
    this.#tell();
  }

  /** Show on the tiles which are chosen. */
  mark() {
    const choosing = this.chosen.size > 0;
    this.area.classList.toggle("choosing", choosing);
    for (const tile of this.tiles) {
      const chosen = this.chosen.has(tile.dataset.id);
      tile.classList.toggle("chosen", chosen);
      if (choosing) tile.setAttribute("aria-pressed", String(chosen));
      else tile.removeAttribute("aria-pressed");
    }
  }

  toggle(tile) {
    const { id, hash } = tile.dataset;
    if (!this.chosen.delete(id)) this.chosen.set(id, hash);
    this.anchor = id;
    this.#tell();
  }

  /** Choose all from the last one that was chosen or left to this one. */
  reach(tile) {
    const tiles = this.tiles;
    const from = tiles.findIndex((each) => each.dataset.id === this.anchor);
    const to = tiles.indexOf(tile);
    if (from < 0) return this.toggle(tile);
    for (const each of tiles.slice(Math.min(from, to), Math.max(from, to) + 1)) this.chosen.set(each.dataset.id, each.dataset.hash);
    this.#tell();
  }

  #tell() {
    this.mark();
    this.changed();
  }

  #click(event) {
    const tile = event.target.closest(".tile[data-hash]");
    if (!tile || tile.closest("#compare")) return;
    const corner = event.target.closest(".check");
    if (this.pressed) this.pressed = false; // the end of a long press
    else if (event.shiftKey) this.reach(tile);
    else if (corner || this.chosen.size || event.ctrlKey || event.metaKey) this.toggle(tile);
    else return;
    event.stopPropagation();
    event.preventDefault();
  }

  #key(event) {
    const tile = event.target.closest?.(".tile[data-hash]");
    if (!tile || event.altKey || tile.closest("#compare")) return;
    const all = event.key.toLowerCase() === "a" && (event.ctrlKey || event.metaKey);
    if (all) this.all();
    else if (event.ctrlKey || event.metaKey) return;
    else if (event.key.toLowerCase() === "x") event.shiftKey ? this.reach(tile) : this.toggle(tile);
    else if (event.key === "Escape" && this.chosen.size) this.clear();
    else {
      // The grid has moved the focus already: Shift takes in what it passed.
      const now = document.activeElement;
      if (!event.shiftKey || now === tile || !now.matches(".tile")) return;
      if (!this.anchor) this.anchor = tile.dataset.id;
      this.reach(now);
    }
    event.preventDefault();
  }

  #listenForPresses() {
    let timer = 0;
    let start = null;
    const stop = () => clearTimeout(timer);
    this.area.addEventListener("pointerdown", (event) => {
      this.pressed = false;
      const tile = event.target.closest(".tile[data-hash]");
      if (event.pointerType === "mouse" || !tile) return;
      start = event;
      timer = setTimeout(() => {
        this.pressed = true;
        this.toggle(tile);
        navigator.vibrate?.(10);
      }, LONG);
    });
    this.area.addEventListener("pointermove", (event) => {
      if (start && Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) > STILL) stop();
    });
    for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, stop);
    this.area.addEventListener("contextmenu", (event) => {
      if (start && event.target.closest(".tile") && event.pointerType !== "mouse") event.preventDefault();
    });
  }
}
