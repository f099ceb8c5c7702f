// Pictures in justified rows, one of them in the tab order, arrows for the rest.

import { thumbnailUrl } from "./api.js";
import { divider, sections } from "./confidence.js";
import { make } from "./dom.js";
import { join } from "./duplicates.js";
import { icon } from "./icons.js";
import { justify } from "./justify.js";
import { marks } from "./marks.js";
import { timeMark, timeOf } from "./moments.js";
import { load } from "./patient.js";
import { date, number, say } from "./texts.js";

/** @typedef {{id: string, hash: string, rank: number, score: number, path: string, width: number, height: number, note: string | null, confidence?: string | null, date: string, signature?: string | null, second?: number | null, duration?: number | null}} Hit */

const GAP = 6;

/** Height that rows should have about. @param {number} width of the rows */
export const rowHeight = (width) => (width < 500 ? 110 : width < 1000 ? 160 : 200);

/** Last part of a path, of either kind of system. @param {string} path */
export const nameOf = (path) => path.split(/[\\/]/).pop() ?? path;

export const score = (value) => number(value, { minimumFractionDigits: 3, maximumFractionDigits: 3 });

export class Grid {
  /** @param {HTMLElement} list @param {(id: string) => void} open @param {{walks?: boolean}} how walks: arrows move in this list */
  constructor(list, open, { walks = true } = {}) {
    this.list = list;
    /** @type {Hit[]} */
    this.hits = [];
    /** Those that have a tile, with the pictures that it stands for. @type {Hit[][]} */
    this.groups = [];
    list.addEventListener("click", (event) => {
      const tile = event.target.closest("button");
      if (tile) open(tile.dataset.id);
    });
    if (walks) {
      list.addEventListener("keydown", (event) => this.#move(event));
      list.addEventListener("focusin", (event) => this.#rove(event.target.closest("button")));
    }
    this.walks = walks;
    new ResizeObserver(() => this.arrange()).observe(list);
  }

  get tiles() {
    return [...this.list.querySelectorAll("button")];
  }

  /** The elements of pictures, without the lines between them. */
  get #items() {
    return [...this.list.children].filter((item) => !item.matches(".divider"));
  }

  /** @param {Hit[]} hits */
  show(hits) {
    [this.hits, this.groups] = [[], []];
    this.list.replaceChildren();
    this.add(hits);
  }

  /** @param {Hit[]} hits those of the next page; a collection that grows may give one twice */
  add(hits) {
    const known = new Set(this.hits.map((hit) => hit.id));
    const fresh = hits.filter((hit) => !known.has(hit.id));
    for (const hit of fresh) {
      const group = join(this.groups, hit);
      if (group) stack(this.#items[this.groups.indexOf(group)].firstChild, group.length);
      else this.list.append(...[divider(hit, this.groups.at(-1)?.[0]), make("li", {}, tile(hit))].filter(Boolean));
      if (!group) this.groups.push([hit]);
    }
    this.hits.push(...fresh);
    const first = this.list.querySelector("button");
    if (this.walks && first && !this.list.querySelector('[tabindex="0"]')) first.tabIndex = 0;
    this.arrange();
  }

  arrange() {
    const width = Math.floor(this.list.getBoundingClientRect().width); // clientWidth may round up
    if (!width || !this.hits.length) return;
    const parts = sections(this.groups.map(([hit]) => hit));
    const sizes = parts.flatMap((hits) => justify(hits.map((hit) => hit.width / hit.height), width, rowHeight(width), GAP));
    for (const [place, item] of this.#items.entries()) {
      item.style.width = `${sizes[place].width}px`;
      item.style.height = `${sizes[place].height}px`;
    }
  }

  /** @param {string} id @returns {boolean} whether that picture is here */
  focus(id) {
    const [first] = this.groups.find((group) => group.some((hit) => hit.id === id)) ?? [];
    const found = first && this.list.querySelector(`button[data-id="${CSS.escape(first.id)}"]`);
    found?.focus();
    return Boolean(found);
  }

  #rove(button) {
    if (!button) return;
    for (const other of this.list.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    button.tabIndex = 0;
  }

  #move(event) {
    const from = event.target.closest("button");
    if (!from || event.ctrlKey || event.altKey || event.metaKey) return;
    const to = neighbour(this.tiles, from, event.key, getComputedStyle(this.list).direction === "rtl");
    if (!to) return;
    event.preventDefault();
    to.focus();
    to.scrollIntoView({ block: "nearest" });
  }
}

/** Where an arrow leads from a tile. */
export function neighbour(tiles, from, key, mirrored) {
  const place = tiles.indexOf(from);
  const step = { ArrowRight: mirrored ? -1 : 1, ArrowLeft: mirrored ? 1 : -1 }[key];
  if (step) return tiles[place + step];
  if (key === "Home") return tiles[0];
  if (key === "End") return tiles.at(-1);
  if (key !== "ArrowDown" && key !== "ArrowUp") return undefined;
  const here = from.getBoundingClientRect();
  const middle = here.left + here.width / 2;
  const boxes = tiles.map((tile) => ({ tile, box: tile.getBoundingClientRect() }));
  const beyond = boxes.filter(({ box }) => (key === "ArrowDown" ? box.top >= here.bottom : box.bottom <= here.top));
  const row = key === "ArrowDown" ? Math.min(...beyond.map(({ box }) => box.top)) : Math.max(...beyond.map(({ box }) => box.top));
  const away = ({ box }) => Math.abs(box.left + box.width / 2 - middle);
  return beyond.filter(({ box }) => box.top === row).sort((a, b) => away(a) - away(b))[0]?.tile;
}

/** Say on a tile how many pictures it stands for. @param {HTMLElement} tile @param {number} count */
function stack(tile, count) {
  tile.querySelector(".stack")?.remove();
  tile.append(make("span", { class: "stack" }, icon("stack"), number(count)));
  tile.setAttribute("aria-description", say("alike", { n: count }));
}

/** @param {Hit} hit */
export function tile(hit) {
  const name = nameOf(hit.path);
  const ranked = hit.score !== undefined;
  const text = ranked ? say("tile", { rank: hit.rank, name, score: score(hit.score) }) : say("tileDate", { name, date: date(hit.date) });
  const picture = make("img", { alt: "", loading: "lazy", decoding: "async", draggable: false });
  load(picture, thumbnailUrl(hit.id, hit.hash), { wanted: () => picture.isConnected, missing: () => picture.classList.add("missing") });
  return make(
    "button",
    {
      type: "button", class: "tile", tabIndex: -1, "data-id": hit.id, "data-hash": hit.hash,
      "aria-label": [text, timeOf(hit), hit.note].filter(Boolean).join(". "),
    },
    picture,
    ...marks(),
    timeMark(hit),
    make("span", { class: "facts" }, ranked ? make("b", {}, score(hit.score)) : null, make("span", { class: "path" }, make("bdi", { dir: "ltr" }, hit.path))),
  );
}
