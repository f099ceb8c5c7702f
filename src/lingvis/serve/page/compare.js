// The same question in several languages side by side.

import { byId, make } from "./dom.js";
import { ColumnView } from "./column.js";
import { icon } from "./icons.js";
import { interfaceCode, say } from "./texts.js";
import { tellStatus } from "./notices.js";

const FIRST = 3; // columns to begin with
const MOST = 6;

export class Compare {
  /**
   * @param {(columns: import("./question.js").Column[], how: {replace: boolean}) => void} change
   * @param {(id: string, hits: import("./grid.js").Hit[]) => void} open
   */
  constructor(change, open) {
    [this.change, this.open] = [change, open];
    this.section = byId("compare");
    /** @type {ColumnView[]} */
    this.views = [];
    for (const kind of ["pointerover", "focusin"]) this.section.addEventListener(kind, (event) => this.#light(event.target.closest("[data-id]")));
    for (const kind of ["pointerleave", "focusout"]) this.section.addEventListener(kind, () => this.#light(null));
  }

  /** Columns for somebody who comes from a single question. @param {import("./question.js").Question} question @param {string[]} languages */
  static begin(question, languages, detected) {
    const [, ...others] = question.columns; // those of the last comparison
    const own = question.lang || detected || (languages.includes(interfaceCode()) ? interfaceCode() : languages[0]);
    const codes = [...new Set([own, interfaceCode(), "en", ...languages])].filter((code) => languages.includes(code));
    if (others.length) return [{ lang: own, words: question.words }, ...others];
    return codes.slice(0, FIRST).map((lang) => ({ lang, words: lang === own ? question.words : "" }));
  }

  hide() {
    this.section.hidden = true;
    for (const view of this.views) view.stop();
  }

  /** @param {import("./question.js").Question} question @param {string[]} languages */
  show(question, languages) {
    this.section.hidden = false;
    this.question = question;
    const { columns } = question;
    if (this.views.length !== columns.length || this.spoken !== interfaceCode()) this.#build(columns, languages);
    this.spoken = interfaceCode();
    for (const [place, view] of this.views.entries()) view.show(columns[place], question);
    this.#mark();
  }

  #build(columns, languages) {
    for (const view of this.views) view.stop();
    this.views = columns.map(
      (_, place) =>
        new ColumnView(languages, {
          change: (column, how) => this.change(this.question.columns.map((old, other) => (other === place ? column : old)), how),
          remove: columns.length > 1 ? () => this.#remove(place) : null,
          open: this.open,
          answered: () => this.#mark(),
        }),
    );
    const add = make("button", { type: "button", class: "plain add", click: () => this.#add(languages) }, icon("add"), say("addColumn"));
    this.section.replaceChildren(
      make("p", { class: "hint" }, say("compareHint"), columns.length < MOST ? add : null),
      make("div", { class: "columns" }, ...this.views.map((view) => view.element)),
    );
  }

  #add(languages) {
    const used = new Set(this.question.columns.map(({ lang }) => lang));
    const lang = languages.find((code) => !used.has(code)) ?? languages[0];
    this.change([...this.question.columns, { lang, words: "" }], { replace: false });
    this.views.at(-1).field.focus();
  }

  #remove(place) {
    this.change(this.question.columns.filter((_, other) => other !== place), { replace: false });
    this.views[Math.min(place, this.views.length - 1)].field.focus();
  }

  /** Mark pictures that several columns found. */
  #mark() {
    const times = new Map();
    for (const view of this.views) for (const { id } of view.hits) times.set(id, (times.get(id) ?? 0) + 1);
    const asked = this.views.filter((view) => view.hits.length).length;
    for (const view of this.views) view.mark(times, asked);
    const shared = [...times.values()].filter((count) => count > 1).length;
    tellStatus(asked > 1 ? say("shared", { n: shared }) : "");
  }

  /** Bring out one picture in all columns. */
  #light(tile) {
    const id = tile?.dataset.id;
    const found = id ? [...this.section.querySelectorAll(`[data-id="${CSS.escape(id)}"]`)] : [];
    for (const lit of this.section.querySelectorAll(".lit")) lit.classList.remove("lit");
    for (const each of found) each.classList.add("lit");
    this.section.classList.toggle("lighting", found.length > 1);
  }
}
