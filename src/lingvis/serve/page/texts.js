// The page's own words, in the reader's language.

import { memory } from "./dom.js";
import { direction } from "./languages.js";

/** Interface languages and what their speakers call them. */
export const INTERFACES = {
  en: "English", de: "Deutsch", fr: "Français", es: "Español", pt: "Português",
  zh: "中文", ja: "日本語", ar: "العربية", ru: "Русский",
};

/** @type {Record<string, string | Record<string, string>>} */
let texts = {};
let code = "en";

export const interfaceCode = () => code;

/** The remembered choice, else the first of the browser's languages that there is, else English. */
export function preferred() {
  const kept = memory.get("interface");
  const wanted = [kept, ...navigator.languages].map((tag) => tag?.toLowerCase().split("-")[0]);
  return wanted.find((tag) => tag && tag in INTERFACES) ?? "en";
}

/** Languages that the words of a question are probably in: the one that was chosen last, and that of the page. */
export const likelyLanguages = () => [...new Set([memory.get("written"), code])].filter(Boolean);

/** Load a language and put it into the page. @param {string} chosen */
export async function speak(chosen) {
  const answer = await fetch(`static/texts/${chosen}.json`);
  if (!answer.ok) throw new Error(`texts/${chosen}.json: ${answer.status}`);
  [texts, code] = [await answer.json(), chosen];
  document.documentElement.lang = chosen;
  document.documentElement.dir = direction(chosen);
  document.title = `lingvis: ${say("title")}`;
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = say(element.dataset.text);
  for (const element of document.querySelectorAll("[data-placeholder]")) element.placeholder = say(element.dataset.placeholder);
  for (const element of document.querySelectorAll("[data-label]")) label(element, say(element.dataset.label));
}

/** Name an element for screen readers, and for the mouse where it is a button. */
export function label(element, text) {
  element.setAttribute("aria-label", text);
  if (element.matches("button")) element.title = text;
}

/**
 * A text with its gaps filled; `n` chooses the plural form and is written as the language writes numbers.
 * @param {string} key @param {Record<string, string | number>} values
 */
export function say(key, values = {}) {
  const found = texts[key];
  if (found === undefined) throw new Error(`no text ${key} in ${code}`);
  const text = typeof found === "string" ? found : (found[new Intl.PluralRules(code).select(Number(values.n))] ?? found.other);
  return text.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name];
    return typeof value === "number" ? number(value) : String(value);
  });
}

export const number = (value, options) => new Intl.NumberFormat(code, options).format(value);

/** @param {string} iso a time on the wall, without a zone */
export const date = (iso) => new Intl.DateTimeFormat(code, { dateStyle: "medium", timeStyle: "short" }).format(new Date(iso));

/** @param {string} month such as 2024-05 */
export const monthName = (month) => new Intl.DateTimeFormat(code, { month: "long", year: "numeric", timeZone: "UTC" }).format(new Date(`${month}-15`));

/** @param {number} count of bytes */
export function bytes(count) {
  const [unit, divisor] = count < 1e6 ? ["kilobyte", 1e3] : ["megabyte", 1e6];
  return number(count / divisor, { style: "unit", unit, maximumFractionDigits: count < 1e5 || count >= 1e6 ? 1 : 0 });
}
