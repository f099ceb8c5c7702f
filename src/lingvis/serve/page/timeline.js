// A rail beside the pictures: years and months, to jump by mouse, finger and keys.

import { make } from "./dom.js";
import { label, monthName, say } from "./texts.js";

const APART = 0.045; // of the rail's height between two years
const KEYS = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

export class Timeline {
  /** @param {(month: string) => void} jump */
  constructor(jump) {
    this.jump = jump;
    /** @type {{month: string, start: number}[]} */
    this.months = [];
    this.place = 0;
    this.thumb = make("span", { class: "thumb", "aria-hidden": "true" });
    this.hint = make("span", { class: "hint", "aria-hidden": "true" });
    this.years = make("span", { class: "years", "aria-hidden": "true" });
    this.element = make("div", {
      class: "timeline", role: "slider", tabIndex: 0, "aria-orientation": "vertical", "aria-valuemin": "0",
      keydown: (event) => this.#key(event), pointerdown: (event) => this.#drag(event), pointermove: (event) => this.#hover(event),
      pointerleave: () => this.element.classList.remove("hovered"),
    }, this.years, this.thumb, this.hint);
  }

  /** @param {{month: string, pictures: number}[]} counts the latest first */
  show(counts) {
    const total = counts.reduce((sum, { pictures }) => sum + pictures, 0);
    let before = 0;
    this.months = counts.map(({ month, pictures }) => {
      const start = before / total;
      before += pictures;
      return { month, start };
    });
    this.element.hidden = counts.length < 2;
    label(this.element, say("timeline"));
    this.element.setAttribute("aria-valuemax", String(Math.max(0, counts.length - 1)));
    let last = -1;
    const years = this.months.filter(({ month }, place) => month.slice(0, 4) !== this.months[place - 1]?.month.slice(0, 4));
    this.years.replaceChildren(...years.filter(({ start }) => start - last >= APART && (last = start) >= 0).map(({ month, start }) => {
      const year = make("span", {}, month.slice(0, 4));
      year.style.insetBlockStart = `${start * 100}%`;
      return year;
    }));
    this.mark(this.months[0]?.month);
  }

  /** Say which month is in sight. @param {string} month */
  mark(month) {
    const place = this.months.findIndex((each) => each.month === month);
    if (place < 0) return;
    this.place = place;
    this.thumb.style.insetBlockStart = `${this.months[place].start * 100}%`;
    this.element.setAttribute("aria-valuenow", String(place));
    this.element.setAttribute("aria-valuetext", monthName(month));
  }

  #go(place) {
    const bounded = Math.min(Math.max(place, 0), this.months.length - 1);
    this.mark(this.months[bounded].month);
    this.jump(this.months[bounded].month);
  }

  #key(event) {
    const year = (by) => {
      const own = this.months[this.place].month.slice(0, 4);
      const rest = by > 0 ? this.months.slice(this.place) : this.months.slice(0, this.place + 1).reverse();
      const steps = rest.findIndex(({ month }) => month.slice(0, 4) !== own);
      return steps < 0 ? by * Infinity : by * steps;
    };
    const by = event.key === "PageDown" ? year(1) : event.key === "PageUp" ? year(-1) : KEYS[event.key];
    if (by === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.#go(this.place + by);
  }

  #at(event) {
    const box = this.element.getBoundingClientRect();
    const share = (event.clientY - box.top) / box.height;
    return Math.max(0, this.months.findLastIndex(({ start }) => start <= share));
  }

  #drag(event) {
    event.preventDefault();
    this.element.focus();
    this.element.setPointerCapture(event.pointerId);
    this.#go(this.#at(event));
  }

  #hover(event) {
    const place = this.#at(event);
    this.element.classList.add("hovered");
    this.hint.textContent = monthName(this.months[place].month);
    this.hint.style.insetBlockStart = `${event.clientY - this.element.getBoundingClientRect().top}px`;
    if (this.element.hasPointerCapture(event.pointerId) && place !== this.place) this.#go(place);
  }
}
