// The start page: examples to begin with, the newest pictures by month, folders and a timeline beside them.

import { getTimeline } from "./api.js";
import { byId, make, memory } from "./dom.js";
import { forgetGroups } from "./duplicates.js";
import { examples } from "./examples.js";
import { Folders } from "./folders.js";
import { neighbour } from "./grid.js";
import { icon } from "./icons.js";
import { PictureMap } from "./map.js";
import { Month } from "./months.js";
import { clearNotice, showNotice, showRefusal, tellStatus } from "./notices.js";
import { activeFilters, filtersOf } from "./question.js";
import { interfaceCode, say } from "./texts.js";
import { Timeline } from "./timeline.js";

const NEAR = 900; // pixels around the screen in which pictures are loaded

export class Browse {
  /** @param {{open: (id: string) => void, go: (change: object) => void, reset: () => void}} calls */
  constructor({ open, go, reset }) {
    [this.open, this.go, this.reset] = [open, go, reset];
    this.section = byId("browse");
    /** @type {Month[]} */
    this.months = [];
    this.turn = 0;
    this.folders = new Folders((folder) => go({ folder }));
    this.timeline = new Timeline((month) => this.#jump(month));
    this.map = new PictureMap((area) => go({ area }));
    this.hero = make("div", { class: "hero" });
    this.chips = make("p", { class: "narrowed" });
    this.list = make("div", { class: "months", keydown: (event) => this.#move(event), focusin: (event) => this.#rove(event.target) });
    this.tools = make("div", { class: "places-tools" });
    this.section.append(this.hero, make("div", { class: "narrow" }, this.tools, this.chips), this.map.element, make("div", { class: "shelf" }, this.folders.element, this.list, this.timeline.element));
    this.watch = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && this.#fill(), { rootMargin: `${NEAR}px` });
    addEventListener("scroll", () => this.#mark(), { passive: true });
    new ResizeObserver(() => this.#reserve()).observe(this.list);
  }

  get visible() {
    return !this.section.hidden;
  }

  hide() {
    this.turn++;
    this.section.hidden = true;
    this.map.hide();
  }

  /** @param {import("./question.js").Question} question @param {any} collection */
  async show(question, collection) {
    const turn = ++this.turn;
    forgetGroups();
    this.section.hidden = false;
    this.question = question;
    this.#greet(collection, turn);
    this.#tools(question);
    try {
      const [{ months }] = await Promise.all([getTimeline(filtersOf(question)), this.#narrow(question)]);
      if (turn !== this.turn) return;
      clearNotice();
      this.#list(months, question);
    } catch (refused) {
      if (turn === this.turn) showRefusal(refused, () => this.show(question, collection));
    }
  }

  // What the large view leafs through.

  find(id) {
    return this.#monthOf(id)?.hits.find((hit) => hit.id === id);
  }

  edges(id) {
    const [month] = [this.#monthOf(id)];
    const first = month === this.months[0] && month?.hits[0]?.id === id;
    const last = month === this.months.at(-1) && month?.done && month.hits.at(-1)?.id === id;
    return { first: !month || first, last: !month || last };
  }

  async step(id, by) {
    let month = this.#monthOf(id);
    if (!month) return undefined;
    const place = month.hits.findIndex((hit) => hit.id === id);
    if (by > 0 && place === month.hits.length - 1 && !month.done) await month.load();
    if (month.hits[place + by]) return month.hits[place + by];
    month = this.months[this.months.indexOf(month) + by];
    if (!month) return undefined;
    if (!month.hits.length) await month.load();
    while (by < 0 && !month.done) await month.load();
    return by > 0 ? month.hits[0] : month.hits.at(-1);
  }

  /** @param {string} id @returns {boolean} whether its tile is here */
  focus(id) {
    return this.visible && Boolean(this.#monthOf(id)?.grid.focus(id));
  }

  #monthOf(id) {
    return this.months.find((month) => month.hits.some((hit) => hit.id === id));
  }

  async #greet(collection, turn) {
    const filtered = activeFilters(this.question) > 0;
    this.hero.hidden = filtered;
    if (filtered || (this.greeted === interfaceCode() && this.hero.childElementCount)) return;
    const list = make("p", { class: "examples" });
    const about = [say("pictures", { n: collection.pictures }), say("languages", { n: collection.languages.length })];
    this.hero.replaceChildren(make("h2", {}, say("emptyTitle")), make("p", {}, say("emptyText")), list, make("p", { class: "about" }, about.join(" · ")));
    this.greeted = interfaceCode();
    const chosen = await examples(collection, interfaceCode());
    if (this.greeted !== interfaceCode()) return;
    list.replaceChildren(...chosen.map(({ words, lang }) => make("button", { type: "button", class: "plain", dir: "auto", lang, click: () => this.go({ words }) }, words)));
  }

  #tools(question) {
    const wide = matchMedia("(min-width: 1000px)").matches;
    const shown = memory.get("folders") ? memory.get("folders") === "open" : wide;
    const folders = make("button", { type: "button", class: "tool", "aria-pressed": String(shown) }, icon("folder"), say("folders"));
    folders.addEventListener("click", () => {
      const open = folders.getAttribute("aria-pressed") !== "true";
      memory.set("folders", open ? "open" : "closed");
      folders.setAttribute("aria-pressed", String(open));
      this.folders.element.hidden = !open;
    });
    this.folders.element.hidden = !shown;
    const map = make("button", { type: "button", class: "tool", "aria-pressed": String(question.view === "map"), click: () => this.go({ view: question.view === "map" ? "" : "map" }) }, icon("map"), say("map"));
    this.tools.replaceChildren(this.severalFolders === false ? "" : folders, this.placed ? map : "");
    this.chips.replaceChildren(...this.#chips(question));
  }

  /** What narrows the pictures beside the filters of the form. */
  #chips(question) {
    const chip = (text, change) => make("button", { type: "button", class: "plain", click: () => this.go(change) }, make("bdi", {}, text), icon("close"));
    return [
      question.folder ? chip(question.folder.split(/[\\/]/).filter(Boolean).pop() ?? question.folder, { folder: "" }) : null,
      question.area ? chip(say("thisArea"), { area: "" }) : null,
    ].filter(Boolean);
  }

  /** Folders and map: loaded once, then only marked. */
  async #narrow(question) {
    if (this.severalFolders === undefined) {
      const [several, placed] = await Promise.all([this.folders.load(), this.map.load()]);
      [this.severalFolders, this.placed] = [several, placed];
      this.#tools(question);
    }
    this.folders.show(question.folder);
    if (!this.severalFolders) this.folders.element.hidden = true;
    if (question.view === "map" && this.placed) this.map.show(question);
    else this.map.hide();
  }

  #list(counts, question) {
    const total = counts.reduce((sum, { pictures }) => sum + pictures, 0);
    this.watch.disconnect();
    this.months = counts.map((count) => new Month(count, question, (id) => this.open(id)));
    this.list.replaceChildren(...this.months.map((month) => month.element));
    this.timeline.show(counts);
    tellStatus(activeFilters(question) ? say("pictures", { n: total }) : "");
    if (!total) {
      const reset = make("button", { type: "button", class: "primary", click: this.reset }, say("reset"));
      showNotice(say("noneTitle"), say("noneFilters"), reset);
    }
    this.#reserve();
    for (const month of this.months) this.watch.observe(month.rest);
    this.#fill();
  }

  #reserve() {
    const width = this.list.clientWidth;
    if (width) for (const month of this.months) month.reserve(width);
  }

  /** Load the pictures whose room is in sight, one month after the other. */
  async #fill() {
    if (this.filling) return;
    this.filling = true;
    const turn = this.turn;
    try {
      for (let month = this.#missing(); month && turn === this.turn; month = this.#missing()) {
        await month.load();
        this.#firstTab();
      }
    } catch (refused) {
      if (turn === this.turn) showRefusal(refused, () => this.#fill());
    } finally {
      this.filling = false;
      if (turn !== this.turn && this.visible) this.#fill();
    }
  }

  /** The first month with room in sight. */
  #missing() {
    return this.months.find(({ done, rest }) => {
      const box = rest.getBoundingClientRect();
      return !done && box.bottom > -NEAR && box.top < innerHeight + NEAR;
    });
  }

  #jump(month) {
    const found = this.months.find((each) => each.month === month);
    if (!found) return;
    const bar = document.querySelector(".bar").getBoundingClientRect().height;
    scrollTo({ top: scrollY + found.element.getBoundingClientRect().top - bar - 8 });
  }

  /** Tell the timeline which month is at the top. */
  #mark() {
    if (!this.visible || !this.months.length) return;
    const line = document.querySelector(".bar").getBoundingClientRect().height + 40;
    const end = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
    const reached = this.months.findLast(({ element }) => element.getBoundingClientRect().top <= (end ? innerHeight : line));
    this.timeline.mark((reached ?? this.months[0]).month);
  }

  #firstTab() {
    const tiles = this.list.querySelectorAll(".tile");
    if (tiles[0] && !this.list.querySelector('.tile[tabindex="0"]')) tiles[0].tabIndex = 0;
  }

  #rove(target) {
    const tile = target.closest(".tile");
    if (!tile) return;
    for (const other of this.list.querySelectorAll('.tile[tabindex="0"]')) other.tabIndex = -1;
    tile.tabIndex = 0;
  }

  #move(event) {
    const from = event.target.closest(".tile");
    if (!from || event.ctrlKey || event.altKey || event.metaKey) return;
    const to = neighbour([...this.list.querySelectorAll(".tile")], from, event.key, getComputedStyle(this.list).direction === "rtl");
    if (!to) return;
    event.preventDefault();
    to.focus();
    to.scrollIntoView({ block: "nearest" });
  }
}
