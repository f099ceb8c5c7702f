// Where the page is: the current question, kept in step with the address and the browser's history.

import { fromAddress, toAddress } from "./question.js";

/** Pictures cannot stand in an address: entries of the history name them by number. @type {Map<number, File>} */
const pictures = new Map();
/** @type {Array<(now: import("./question.js").Question, before: import("./question.js").Question) => void>} */
const listeners = [];
let question = read();

export const current = () => question;
export const onChange = (listener) => listeners.push(listener);

/**
 * @param {Partial<import("./question.js").Question>} change
 * @param {{replace?: boolean}} how replace: no new entry in the history
 */
export function go(change, { replace = false } = {}) {
  const next = { ...question, ...change };
  const address = toAddress(next);
  const moved = address !== toAddress(question) || next.picture !== question.picture;
  if (moved) history[replace ? "replaceState" : "pushState"]({ picture: numberOf(next.picture), inside: !replace || inside() }, "", address);
  tell(next);
}

/** Whether going back stays on this page. */
export const inside = () => Boolean(history.state?.inside);

function read() {
  return { ...fromAddress(location.search), picture: pictures.get(history.state?.picture) ?? null };
}

function tell(next) {
  const before = question;
  question = next;
  for (const listener of listeners) listener(question, before);
}

function numberOf(picture) {
  if (!picture) return undefined;
  for (const [number, known] of pictures) if (known === picture) return number;
  pictures.set(pictures.size + 1, picture);
  return pictures.size;
}

addEventListener("popstate", () => tell(read()));
