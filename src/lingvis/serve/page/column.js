// One column of the comparison: a language, a question, its best pictures.

import { searchWords } from "./api.js";
import { debounce, make } from "./dom.js";
import { neighbour, tile } from "./grid.js";
import { icon } from "./icons.js";
import { direct, languageName, named } from "./languages.js";
import { tellBusy } from "./notices.js";
import { filtersOf } from "./question.js";
import { interfaceCode, label, say } from "./texts.js";

const BEST = 12;

export class ColumnView {
  /** @param {string[]} languages @param {{change: Function, remove: Function | null, open: Function, answered: Function}} calls */
  constructor(languages, calls) {
    this.calls = calls;
    /** @type {import("./grid.js").Hit[]} */
    this.hits = [];
    this.running = new AbortController();
    this.asked = "";
    this.words = "";
    this.typing = false;
    const later = debounce(() => this.#send({ replace: this.typing }), 150);
    const settle = () => {
      later.cancel();
      this.#send({ replace: this.typing });
      this.typing = false;
    };
    this.select = make("select", { class: "pill", change: () => this.#send({ replace: false }) },
      ...named(languages, interfaceCode()).map(({ code, name }) => make("option", { value: code }, name)));
    this.field = make("input", { type: "search", input: later, change: settle, autocomplete: "off" });
    this.list = make("ul", { class: "best", keydown: (event) => this.#move(event), click: (event) => this.#open(event) });
    this.problem = make("p", { class: "problem", role: "alert", dir: "auto" });
    this.element = make("section", { class: "column" }, make("header", {}, this.select, this.#removeButton()), this.field, this.problem, this.list);
  }

  /** @param {import("./question.js").Column} column @param {import("./question.js").Question} question */
  show(column, question) {
    const name = languageName(column.lang, interfaceCode());
    this.select.value = column.lang;
    // What is being typed stays, unless the question itself has become another one.
    if (column.words !== this.words && this.field.value.trim() !== column.words.trim()) this.field.value = column.words;
    this.words = column.words;
    direct(this.field, column.lang);
    this.field.placeholder = say("columnWords", { language: name });
    label(this.field, say("columnWords", { language: name }));
    label(this.select, say("columnLanguage"));
    label(this.element, name);
    if (this.remove) label(this.remove, say("removeColumn", { language: name }));
    const fields = { q: column.words.trim(), lang: column.lang, captions: question.captions, ...filtersOf(question), k: BEST };
    if (JSON.stringify(fields) !== this.asked) this.#ask(fields);
  }

  stop() {
    this.running.abort();
    this.asked = "";
  }

  /** @param {Map<string, number>} times in how many columns each picture is @param {number} total */
  mark(times, total) {
    for (const button of this.list.querySelectorAll("button")) {
      const count = times.get(button.dataset.id) ?? 0;
      button.classList.toggle("shared", count > 1);
      const text = count > 1 ? say("inColumns", { count, total }) : "";
      button.querySelector(".times").textContent = count > 1 ? `${count}/${total}` : "";
      button.querySelector(".times").title = text;
      button.setAttribute("aria-description", text);
    }
  }

  async #ask(fields) {
    this.running.abort();
    const running = (this.running = new AbortController());
    this.asked = JSON.stringify(fields);
    try {
      const hits = fields.q ? (await searchWords(fields, { signal: running.signal, busy: tellBusy })).hits : [];
      if (running.signal.aborted) return;
      this.problem.textContent = "";
      this.#place(hits);
    } catch (error) {
      if (running.signal.aborted) return;
      this.asked = "";
      this.#place([]);
      this.problem.textContent = error.status ? error.message : say("offlineTitle");
      if (error.status === 401) dispatchEvent(new CustomEvent("locked", { detail: error }));
    }
  }

  #place(hits) {
    this.hits = hits;
    const tiles = hits.map((hit) => tile(hit));
    for (const each of tiles) each.append(make("span", { class: "times" }));
    if (tiles[0]) tiles[0].tabIndex = 0;
    this.list.replaceChildren(...tiles.map((each) => make("li", {}, each)));
    this.calls.answered();
  }

  #send(how) {
    this.calls.change({ lang: this.select.value, words: this.field.value }, how);
    this.typing = true;
  }

  #open(event) {
    const button = event.target.closest("button");
    if (button) this.calls.open(button.dataset.id, this.hits);
  }

  #move(event) {
    const from = event.target.closest("button");
    const to = from && neighbour([...this.list.querySelectorAll("button")], from, event.key, getComputedStyle(this.list).direction === "rtl");
    if (!to) return;
    event.preventDefault();
    from.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  }

  #removeButton() {
    if (!this.calls.remove) return null;
    this.remove = make("button", { type: "button", class: "round", click: this.calls.remove }, icon("close"));
    return this.remove;
  }
}
