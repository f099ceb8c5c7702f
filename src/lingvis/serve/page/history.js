// Recent searches: kept by this browser alone, offered beneath the search field, and forgotten when asked to.

import { byId, make, memory } from "./dom.js";
import { icon } from "./icons.js";
import { onChange } from "./place.js";
import { label, say } from "./texts.js";

const MOST = 50;
const SHOWN = 8;
const field = byId("words");
const box = byId("history");
const keep = byId("history-keep");
let active = -1;

const kept = () => memory.get("history-off") !== "1";

/** @returns {string[]} the latest first */
function read() {
  try {
    const stored = JSON.parse(memory.get("history") ?? "[]");
    return Array.isArray(stored) ? stored.filter((entry) => typeof entry === "string") : [];
  } catch {
    return []; // something else was written there
  }
}

const write = (entries) => memory.set("history", entries.length ? JSON.stringify(entries.slice(0, MOST)) : "");

/** @param {string} words */
export function remember(words) {
  const text = words.trim();
  if (text && kept()) write([text, ...read().filter((other) => other !== text)]);
}

/** @param {(words: string) => void} choose */
export function listenToHistory(choose) {
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-controls", "history-list");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-expanded", "false");
  keep.checked = kept();
  keep.addEventListener("change", () => {
    memory.set("history-off", keep.checked ? "" : "1");
    if (!keep.checked) write([]);
  });
  field.addEventListener("change", () => remember(field.value));
  // A picture that was opened shows that the words were meant, also without Enter.
  onChange((now, before) => now.open && !before.open && remember(now.words));
  byId("search").addEventListener("submit", () => {
    remember(field.value);
    close();
  });
  field.addEventListener("click", open);
  field.addEventListener("input", () => (box.hidden && field.value ? null : open()));
  field.addEventListener("blur", () => setTimeout(() => box.contains(document.activeElement) || close()));
  field.addEventListener("keydown", (event) => key(event, choose));
  // A press must not take the focus from the field, whose loss would close the list before the click.
  box.addEventListener("pointerdown", (event) => event.preventDefault());
  box.addEventListener("click", (event) => {
    const entry = event.target.closest("[role=option]");
    if (!entry) return;
    if (event.target.closest(".forget")) drop(entry.dataset.words);
    else take(entry.dataset.words, choose);
  });
}

function take(words, choose) {
  close();
  remember(words);
  choose(words);
}

function drop(words) {
  write(read().filter((other) => other !== words));
  open();
}

function open() {
  const typed = field.value.trim().toLowerCase();
  const entries = read().filter((words) => words.toLowerCase().includes(typed) && words.toLowerCase() !== typed);
  active = -1;
  if (!kept() || !entries.length) return close();
  const clear = make("button", { type: "button", class: "clear", tabIndex: -1, click: () => (write([]), close()) }, say("historyClear"));
  const list = make("ul", { id: "history-list", role: "listbox" }, ...entries.slice(0, SHOWN).map(entryOf));
  label(list, say("history"));
  box.replaceChildren(make("p", {}, make("span", {}, say("history")), clear), list);
  box.hidden = false;
  field.setAttribute("aria-expanded", "true");
  field.removeAttribute("aria-activedescendant");
}

function entryOf(words, place) {
  const forget = make("span", { class: "forget", title: say("historyRemove", { words }) }, icon("close"));
  return make("li", { id: `history-${place}`, role: "option", "aria-selected": "false", "data-words": words }, icon("clock"), make("bdi", {}, words), forget);
}

function close() {
  box.hidden = true;
  active = -1;
  field.setAttribute("aria-expanded", "false");
  field.removeAttribute("aria-activedescendant");
}

function key(event, choose) {
  if (event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return;
  const options = box.hidden ? [] : [...box.querySelectorAll("[role=option]")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && !options.length && event.key === "ArrowDown") open();
  else if (step && options.length) mark(options, (active + step + options.length + 1) % (options.length + 1));
  else if (event.key === "Escape" && options.length) close();
  else if (event.key === "Enter" && options[active]) take(options[active].dataset.words, choose);
  else if (event.key === "Delete" && event.shiftKey && options[active]) drop(options[active].dataset.words);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** The place after the last entry is the field itself. */
function mark(options, place) {
  active = place === options.length ? -1 : place;
  for (const [number, option] of options.entries()) option.setAttribute("aria-selected", String(number === active));
  if (options[active]) field.setAttribute("aria-activedescendant", options[active].id);
  else field.removeAttribute("aria-activedescendant");
}
