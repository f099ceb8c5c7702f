// The parts of a question that are not in the text field, each with a way to remove it, and a field for what to leave out.

import { albumTitle, FAVOURITES, onAlbums } from "./albums.js";
import { byId, make } from "./dom.js";
import { icon } from "./icons.js";
import { current, go } from "./place.js";
import { label, say } from "./texts.js";

const row = byId("chips");
const list = byId("chip-list");
const form = byId("without");
const field = form.elements.without;
/** What the server took out of the words: terms with a minus, and the words without them. */
let typed = { terms: [], words: "" };
let drawn = "";

/** @param {{text: string}[]} queries @param {string[]} without as the server understood them */
export function showUnderstood(queries, without) {
  const given = current().without;
  const fresh = without.filter((term) => !given.includes(term));
  typed = { terms: fresh, words: fresh.length ? queries.map(({ text }) => text).join(" ") : "" };
  showChips(current());
}

/** @param {import("./question.js").Question} question */
export function showChips(question) {
  if (!question.words.trim()) typed = { terms: [], words: "" };
  const words = question.words.trim();
  const pictured = Boolean(question.like || question.picture);
  byId("words").placeholder = say(pictured ? "but" : "placeholder");
  const without = [
    ...question.without.map((term) => chip("minus", term, say("withoutTerm", { term }), () => go({ without: current().without.filter((other) => other !== term) }))),
    ...typed.terms.map((term) => chip("minus", term, say("withoutTerm", { term }), () => untype(term))),
  ];
  const chips = [
    question.album ? chip(question.album === FAVOURITES ? "heart" : "album", albumTitle(question.album), albumTitle(question.album), () => go({ album: "" })) : null,
    pictured && words ? chip("add", words, say("butWords", { words }), () => go({ words: "" })) : null,
    ...without,
  ].filter(Boolean);
  // Only when they differ: a press on one ends the typing in the field, and must not lose its target by that.
  const wanted = [question.without.length, ...chips.map((each) => each.textContent)].join("|");
  if (wanted !== drawn) list.replaceChildren(...chips);
  drawn = wanted;
  const searching = pictured || Boolean(words);
  row.hidden = question.compare || (!searching && !chips.length);
  form.hidden = !searching;
}

/** A term that stands in the words with a minus: the words stay without it, the other terms become chips of their own. */
function untype(term) {
  const { terms, words } = typed;
  typed = { terms: [], words: "" };
  go({ words, without: [...current().without, ...terms.filter((other) => other !== term)] });
}

function chip(drawing, text, title, remove) {
  const button = make("button", { type: "button", class: "round", click: remove }, icon("close"));
  label(button, say("removeTerm", { term: text }));
  return make("li", { class: `part part-${drawing}`, title }, icon(drawing), make("bdi", {}, drawing === "minus" || drawing === "add" ? title : text), button);
}

export function listenToChips() {
  onAlbums(() => showChips(current()));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const term = field.value.trim();
    if (!term) return;
    field.value = "";
    if (!current().without.includes(term)) go({ without: [...current().without, term] });
  });
}
