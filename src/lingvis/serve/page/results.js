// The answer to a question: asked, shown, continued; a late answer never replaces a newer one.

import { getAlbumPictures, searchPicture, searchSimilar, searchWords } from "./api.js";
import { byId, make } from "./dom.js";
import { forgetGroups } from "./duplicates.js";
import { clearNotice, showNotice, showRefusal, tellBusy, tellStatus } from "./notices.js";
import { activeFilters, filtersOf, isEmpty } from "./question.js";
import { likelyLanguages, say } from "./texts.js";

const PAGE = 48;
const SLOW = 400; // milliseconds after which "searching" is said

/** @typedef {import("./question.js").Question} Question */

/** Ask the server. @param {Question} question */
export async function ask(question, { k, offset, ...options }) {
  const words = question.words.trim();
  const fields = { ...filtersOf(question), k, offset };
  const { without, like, picture } = question;
  if (!words && !like && !picture) return ofAlbum({ album: question.album, k, offset }, options);
  if (words) Object.assign(fields, { q: words, lang: question.lang, prefer: likelyLanguages(), captions: question.captions });
  const weight = words && (picture || like) ? question.weight : undefined;
  if (picture) return searchPicture(picture, { ...fields, without, weight }, options);
  if (like && !words && !without.length) return searchSimilar(like, fields, options);
  return searchWords({ ...fields, without, like, weight }, options);
}

/** The pictures of an album without a question: nothing orders them but the time of adding. */
async function ofAlbum(fields, options) {
  const { items } = await getAlbumPictures(fields, options);
  return { hits: items.map((item, place) => ({ ...item, rank: fields.offset + place + 1 })) };
}

export class Results {
  /**
   * @param {import("./grid.js").Grid} grid
   * @param {{heard: (queries: {text: string, lang: string, detected: boolean}[], without: string[]) => void, reset: () => void, furthest: () => number}} calls
   *   furthest: the last place from which the server begins a page
   */
  constructor(grid, { heard, reset, furthest }) {
    [this.grid, this.heard, this.reset, this.furthest] = [grid, heard, reset, furthest];
    /** @type {Question | null} */
    this.question = null;
    this.running = new AbortController();
    /** The answer on its way. @type {Promise<void> | null} */
    this.loading = null;
    this.offset = 0;
    this.button = byId("more");
    this.button.addEventListener("click", () => this.more());
    this.watch = new IntersectionObserver(([entry]) => entry.isIntersecting && this.more(), { rootMargin: "600px" });
  }

  /** Forget the question and any answer on its way. */
  clear() {
    this.running.abort();
    this.question = null;
    this.grid.show([]);
    this.button.hidden = true;
    document.body.removeAttribute("aria-busy");
    tellStatus("");
    clearNotice();
  }

  /** @param {Question} question */
  async show(question) {
    if (isEmpty(question)) return this.clear();
    this.question = question;
    this.offset = 0;
    return this.#load((hits) => {
      forgetGroups();
      this.grid.show(hits);
      scrollTo({ top: 0 });
      if (!hits.length) this.#nothing();
    });
  }

  /** Whether there may be more pictures than are shown. */
  get unfinished() {
    return !this.button.hidden;
  }

  async more() {
    if (this.unfinished) await (this.loading ?? this.#load((hits) => this.grid.add(hits)));
  }

  #load(place) {
    this.loading = this.#answer(place);
    return this.loading;
  }

  async #answer(place) {
    this.running.abort();
    const running = (this.running = new AbortController());
    const slow = setTimeout(() => tellStatus(say("loading")), SLOW);
    document.body.setAttribute("aria-busy", "true");
    try {
      const answer = await ask(this.question, { k: PAGE, offset: this.offset, signal: running.signal, busy: tellBusy });
      if (running.signal.aborted) return;
      clearNotice();
      this.offset += answer.hits.length;
      this.button.hidden = answer.hits.length < PAGE || this.offset > this.furthest();
      place(answer.hits);
      this.heard(answer.queries ?? [], answer.without ?? []);
      tellStatus(say("shown", { n: this.grid.hits.length }));
    } catch (error) {
      if (running.signal.aborted) return;
      this.#refused(error);
    } finally {
      clearTimeout(slow);
      if (this.running === running) {
        this.loading = null;
        document.body.removeAttribute("aria-busy");
        this.watch.disconnect(); // a fresh look: on a tall screen the end may still be in sight
        this.watch.observe(this.button);
      }
    }
  }

  #refused(error) {
    this.button.hidden = true;
    if (this.offset === 0) this.grid.show([]);
    showRefusal(error, () => (this.offset ? this.#load((hits) => this.grid.add(hits)) : this.show(this.question)));
  }

  #nothing() {
    const filtered = activeFilters(this.question) > 0;
    const reset = make("button", { type: "button", class: "primary", click: this.reset }, say("reset"));
    if (this.question.album && !this.question.words.trim()) return showNotice(say("noneTitle"), say("albumEmpty"));
    showNotice(say("noneTitle"), say(filtered ? "noneFilters" : "none"), ...(filtered ? [reset] : []));
  }
}
