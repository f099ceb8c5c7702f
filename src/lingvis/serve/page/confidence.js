// How sure the server is of a picture: dividers between the sure, the likely and the unlikely, and words it does not know.

import { byId, make } from "./dom.js";
import { say } from "./texts.js";

/** @typedef {import("./grid.js").Hit} Hit */

/** What stands before the first picture of a lower confidence. */
const TEXTS = { likely: "belowLikely", weak: "belowWeak" };

/**
 * The line before a picture, if it is the first of its confidence; the sure ones need none.
 * @param {Hit} hit @param {Hit | undefined} before the one before it
 * @returns {HTMLElement | null}
 */
export function divider(hit, before) {
  if (!(hit.confidence in TEXTS) || hit.confidence === before?.confidence) return null;
  return make("li", { class: "divider", "data-confidence": hit.confidence }, say(TEXTS[hit.confidence]));
}

/** Pictures of one confidence each, in rows of their own. @param {Hit[]} hits @returns {Hit[][]} */
export function sections(hits) {
  const parts = [];
  for (const [place, hit] of hits.entries()) {
    if (!place || divider(hit, hits[place - 1])) parts.push([]);
    parts.at(-1).push(hit);
  }
  return parts;
}

/** Say which words the model does not know. @param {{text: string, unknown: string[], understood: boolean}[]} queries */
export function showUnknown(queries) {
  const line = byId("unknown");
  const strange = queries.filter(({ understood }) => !understood).map(({ text }) => text);
  const words = queries.flatMap(({ unknown }) => unknown);
  if (strange.length) line.textContent = say("notUnderstood", { words: strange.join(", ") });
  else line.textContent = words.length ? say("unknownWords", { words: words.join(", ") }) : "";
  line.hidden = !line.textContent;
}
