// Folder, dates, size, format and captions.

import { byId, debounce, make } from "./dom.js";
import { activeFilters, FILTERS, NOTHING } from "./question.js";
import { label, number, say } from "./texts.js";

const form = byId("filters");
const button = byId("filter-button");
const MEGA = 1e6;
const folders = new Set();

/** Nothing is filtered. */
export const NO_FILTERS = Object.fromEntries([...FILTERS, "captions"].map((name) => [name, NOTHING[name]]));

/** @param {(change: Partial<import("./question.js").Question>) => void} change */
export function listenToFilters(change) {
  const read = debounce(() => change(values()), 300);
  form.addEventListener("input", read);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    read.cancel();
    change(NO_FILTERS);
  });
  button.addEventListener("click", () => {
    form.hidden = !form.hidden;
    button.setAttribute("aria-expanded", String(!form.hidden));
    if (!form.hidden) form.elements.folder.focus();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    button.click();
    button.focus();
  });
}

function values() {
  const text = (name) => (form.elements[name].validity.badInput ? "" : form.elements[name].value.trim());
  const bytesOf = (name) => (text(name) === "" ? "" : String(Math.round(Number(text(name)) * MEGA)));
  return {
    folder: text("folder"), after: text("after"), before: text("before"), format: text("format"), album: text("album"),
    min_size: bytesOf("min_size"), max_size: bytesOf("max_size"), captions: form.elements.captions.checked,
  };
}

/** What the collection allows to choose from. @param {any} collection */
export function offerFilters(collection) {
  const chosen = form.elements.format.value;
  const formats = Object.entries(collection.formats).sort(([, a], [, b]) => b - a);
  form.elements.format.replaceChildren(
    make("option", { value: "" }, say("anyFormat")),
    ...formats.map(([name, count]) => make("option", { value: name }, `${name.toUpperCase()} (${number(count)})`)),
  );
  form.elements.format.value = chosen;
  for (const name of ["after", "before"]) {
    form.elements[name].min = collection.first?.slice(0, 10) ?? "";
    form.elements[name].max = collection.last?.slice(0, 10) ?? "";
  }
  byId("captions-row").hidden = !collection.notes;
}

/** Folders of pictures that were found are proposals for the folder field. @param {{path: string}[]} hits */
export function learnFolders(hits) {
  const before = folders.size;
  for (const { path } of hits) folders.add(path.replace(/[\\/][^\\/]*$/, ""));
  if (folders.size !== before) byId("folders").replaceChildren(...[...folders].sort().map((value) => make("option", { value })));
}

/** An address may name a format that the collection does not have. */
function offerFormat(field, name) {
  const known = [...field.options].some((option) => option.value === name);
  if (!known) field.append(make("option", { value: name }, name.toUpperCase()));
}

/** @param {import("./question.js").Question} question */
export function showFilters(question) {
  for (const name of FILTERS) {
    const shown = name.endsWith("_size") && question[name] ? String(Number(question[name]) / MEGA) : question[name];
    const field = form.elements[name];
    if (field === document.activeElement) continue; // somebody is writing there
    if (name === "format" && shown) offerFormat(field, shown);
    field.value = shown;
  }
  form.elements.captions.checked = question.captions;
  const active = activeFilters(question);
  byId("filter-count").hidden = !active;
  byId("filter-count").textContent = number(active);
  label(button, active ? say("filtersActive", { n: active }) : say("filters"));
}
