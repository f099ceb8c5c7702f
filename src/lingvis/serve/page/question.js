// A question as data, and as an address that can be shared.


/**
 * @typedef {{lang: string, words: string}} Column one language of the comparison
 * @typedef {Object} Question
 * @property {string} words
 * @property {string} lang empty: detect it
 * @property {string} like id of a picture of the collection to look for others like it
 * @property {File | null} picture a picture of the user's own; it does not travel in the address
 * @property {string[]} without what must not be in the pictures
 * @property {number} weight share of the words where there is a picture, too
 * @property {string} folder
 * @property {string} after
 * @property {string} before
 * @property {string} min_size bytes
 * @property {string} max_size bytes
 * @property {string} format
 * @property {string} album
 * @property {string} area south,west,north,east in degrees
 * @property {string} view "map": the map is shown before a query
 * @property {boolean} captions
 * @property {boolean} compare
 * @property {Column[]} columns
 * @property {string} open id of the picture in the large view
 */

/** @type {Question} */
export const NOTHING = Object.freeze({
  words: "", lang: "", like: "", picture: null, without: [], weight: 0.5,
  folder: "", after: "", before: "", min_size: "", max_size: "", format: "", album: "", area: "", view: "", captions: false,
  compare: false, columns: [], open: "",
});

export const FILTERS = ["folder", "after", "before", "min_size", "max_size", "format", "album", "area"];
const TEXTS = { q: "words", lang: "lang", like: "like", open: "open", view: "view", ...Object.fromEntries(FILTERS.map((name) => [name, name])) };

/** @param {string} search the part of an address from "?" on @returns {Question} */
export function fromAddress(search) {
  const given = new URLSearchParams(search);
  const question = { ...NOTHING };
  for (const [name, field] of Object.entries(TEXTS)) question[field] = given.get(name) ?? "";
  const weight = Number(given.get("weight") ?? NOTHING.weight);
  question.weight = weight >= 0 && weight <= 1 ? weight : NOTHING.weight;
  question.without = given.getAll("without").filter(Boolean);
  question.captions = given.has("captions");
  question.compare = given.has("compare");
  question.columns = given.getAll("column").map((text) => {
    const [lang, ...words] = text.split(":");
    return { lang, words: words.join(":") };
  });
  return question;
}

/** @param {Question} question @returns {string} */
export function toAddress(question) {
  const given = new URLSearchParams();
  for (const [name, field] of Object.entries(TEXTS)) if (question[field]) given.set(name, question[field]);
  if (question.weight !== NOTHING.weight) given.set("weight", String(question.weight));
  for (const term of question.without) given.append("without", term);
  if (question.captions) given.set("captions", "1");
  if (question.compare) {
    given.set("compare", "1");
    for (const { lang, words } of question.columns) given.append("column", `${lang}:${words}`);
  }
  const text = given.toString();
  return text ? `./?${text}` : "./"; // relative: a proxy may have the page below a path
}

/** The fields of a request that narrow what may be found. @param {Question} question */
export const filtersOf = (question) => Object.fromEntries(FILTERS.map((name) => [name, question[name]]));

/** How many filters are set. @param {Question} question */
export const activeFilters = (question) => FILTERS.filter((name) => question[name]).length + (question.captions ? 1 : 0);

/** @param {Question} question */
export const isEmpty = (question) => !question.words.trim() && !question.like && !question.picture && !question.album;

/** Whether two questions have the same answer. @param {Question} one @param {Question} other */
export function sameAnswer(one, other) {
  const plain = (question) => toAddress({ ...question, open: "", words: question.words.trim() });
  return one.picture === other.picture && plain(one) === plain(other);
}
