// The words of a question and their language.

import { byId, debounce, make, memory } from "./dom.js";
import { direct, languageName, named } from "./languages.js";
import { interfaceCode, say } from "./texts.js";

const field = byId("words");
const select = byId("language");
const DELAY = 150; // milliseconds of rest that end a burst of typing
let typing = false;
let detected = "";
let shown = "";

/** @param {(change: Partial<import("./question.js").Question>, how: {replace: boolean}) => void} change */
export function listenToWords(change) {
  const send = () => {
    change({ words: field.value }, { replace: typing });
    typing = true;
  };
  const later = debounce(send, DELAY);
  field.addEventListener("input", (event) => {
    if (event.isComposing) return; // half a Chinese or Japanese word is no question
    if (!select.value) direct(field, "");
    later();
  });
  field.addEventListener("compositionend", later);
  field.addEventListener("change", () => {
    later.cancel();
    send();
    typing = false; // the next word begins a new entry of the history
  });
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    later.cancel();
    send();
    typing = false;
  });
  select.addEventListener("change", () => {
    memory.set("written", select.value);
    change({ lang: select.value }, { replace: false });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea, dialog")) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}

/** Offer the languages of the model. @param {string[]} codes @param {boolean} matters whether the model uses the language */
export function offerLanguages(codes, matters) {
  select.parentElement.hidden = !matters;
  const chosen = select.value;
  select.replaceChildren(
    make("option", { value: "" }, say("detect")),
    ...named(codes, interfaceCode()).map(({ code, name }) => make("option", { value: code }, name)),
  );
  select.value = codes.includes(chosen) ? chosen : "";
}

/** @param {import("./question.js").Question} question */
export function showWords(question) {
  // What is being typed stays, unless the question itself has become another one.
  if (question.words !== shown && field.value.trim() !== question.words.trim()) field.value = question.words;
  shown = question.words;
  if (question.lang && ![...select.options].some((option) => option.value === question.lang)) {
    select.append(make("option", { value: question.lang }, languageName(question.lang, interfaceCode())));
  }
  select.value = question.lang;
  if (!question.words.trim()) detected = "";
  tell(question);
}

/** Say which language the server took the words for. @param {{lang: string, detected: boolean}[]} queries */
export function showDetected(queries, question) {
  detected = queries[0]?.detected ? queries[0].lang : "";
  tell(question);
}

function tell(question) {
  const name = detected && languageName(detected, interfaceCode());
  if (select.options[0]) select.options[0].textContent = name ? say("detected", { language: name }) : say("detect");
  select.classList.toggle("known", Boolean(question.lang || detected));
  select.parentElement.dataset.code = question.lang || detected;
  direct(field, question.lang || detected, { guessed: !question.lang });
}
