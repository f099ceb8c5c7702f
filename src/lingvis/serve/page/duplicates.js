// Copies of a picture and shots of one series: recognised by their tiny copies, shown as one tile.

/** @typedef {import("./grid.js").Hit} Hit */

// Mean difference of the colours, and its share of their contrast.
const COPY = { difference: 4, share: 0.1 };
const SERIES = { difference: 9, share: 0.25 };
const SECONDS = 30; // between two shots of one series
const COMPARED = 120; // groups that a picture is compared with, the latest first

/** The groups of more than one picture, by the id of each of their pictures. @type {Map<string, Hit[]>} */
const groups = new Map();
/** @type {Map<string, Uint8Array>} */
const signatures = new Map();

/** The pictures that belong together with one, itself included. @param {string} id @returns {Hit[]} */
export const groupOf = (id) => groups.get(id) ?? [];

/** Forget all groups: another answer is shown. */
export const forgetGroups = () => groups.clear();

/** Put a picture into the group that it belongs to. @param {Hit[][]} existing @param {Hit} hit @returns {Hit[] | null} */
export function join(existing, hit) {
  const group = existing.slice(-COMPARED).find(([first]) => alike(first, hit));
  if (!group) return null;
  group.push(hit);
  for (const each of group) groups.set(each.id, group);
  return group;
}

/** @param {Hit} one @param {Hit} other */
function alike(one, other) {
  if (!one.signature || !other.signature) return false;
  const ratio = (one.width * other.height) / (one.height * other.width);
  if (ratio < 0.97 || ratio > 1.03) return false;
  const apart = Math.abs(new Date(one.date) - new Date(other.date)) / 1000;
  const { difference, share } = apart <= SECONDS ? SERIES : COPY;
  const [a, b] = [valuesOf(one), valuesOf(other)];
  // Pages of text and night skies are alike at first sight: where a picture has little contrast, less may differ.
  return distance(a, b) <= Math.min(difference, share * contrast(a));
}

function valuesOf({ signature }) {
  let values = signatures.get(signature);
  if (!values) signatures.set(signature, (values = Uint8Array.from(atob(signature), (letter) => letter.charCodeAt(0))));
  return values;
}

const distance = (a, b) => a.reduce((sum, value, place) => sum + Math.abs(value - b[place]), 0) / a.length;

function contrast(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}
