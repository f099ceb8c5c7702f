// One month of the start page: a heading, its pictures in rows, and room for those that are not loaded yet.

import { browsePictures } from "./api.js";
import { make } from "./dom.js";
import { Grid, rowHeight } from "./grid.js";
import { filtersOf } from "./question.js";
import { monthName, number } from "./texts.js";

const PAGE = 100;

export class Month {
  /**
   * @param {{month: string, pictures: number}} count
   * @param {import("./question.js").Question} question its filters hold
   * @param {(id: string) => void} open
   */
  constructor({ month, pictures }, question, open) {
    [this.month, this.pictures, this.question] = [month, pictures, question];
    const list = make("ul", { class: "grid", "aria-describedby": "grid-hint" });
    this.grid = new Grid(list, open, { walks: false });
    this.rest = make("div", { class: "rest" });
    const heading = make("h2", { id: `month-${month}` }, monthName(month), make("span", { class: "amount" }, number(pictures)));
    this.element = make("section", { class: "month", "aria-labelledby": heading.id, "data-month": month }, heading, list, this.rest);
    /** @type {Promise<void> | null} */
    this.loading = null;
    this.asked = 0;
    this.done = false;
  }

  get hits() {
    return this.grid.hits;
  }

  /** Keep room for the pictures that are missing, so that the page does not jump. @param {number} width of the rows */
  reserve(width) {
    const left = this.done ? 0 : Math.max(0, this.pictures - this.asked);
    const height = rowHeight(width);
    const perRow = Math.max(1, width / (height * 1.35));
    this.rest.style.height = left ? `${Math.ceil(left / perRow) * (height + 6)}px` : "0";
  }

  /** Load the next pictures of this month. */
  load() {
    if (this.done) return Promise.resolve();
    this.loading ??= this.#load().finally(() => (this.loading = null));
    return this.loading;
  }

  async #load() {
    const answer = await browsePictures({ ...this.#filters(), k: PAGE, offset: this.asked });
    this.asked += answer.items.length;
    this.done = answer.items.length < PAGE || this.asked >= this.pictures;
    this.grid.add(answer.items);
    this.reserve(this.element.clientWidth);
  }

  /** The filters of the question within this month. */
  #filters() {
    const given = filtersOf(this.question);
    const within = (value) => value && value.startsWith(this.month);
    const [year, month] = this.month.split("-").map(Number);
    const last = new Date(Date.UTC(year, month, 0)).getUTCDate();
    return {
      ...given,
      after: within(given.after) ? given.after : `${this.month}-01`,
      before: within(given.before) ? given.before : `${this.month}-${last}`,
    };
  }
}
