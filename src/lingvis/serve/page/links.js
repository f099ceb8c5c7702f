// Addresses in a text as links: captions may name the author, the licence and the source of a picture.

import { make } from "./dom.js";

const ADDRESS = /https?:\/\/[^\s<>"|]+[^\s<>"|.,;:!?)\]]/g;

/** A text as nodes: its addresses are links to other pages, all else stays text. @param {string} text */
export function linked(text) {
  const nodes = [];
  let end = 0;
  for (const { 0: address, index } of text.matchAll(ADDRESS)) {
    nodes.push(text.slice(end, index), make("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, address));
    end = index + address.length;
  }
  return [...nodes, text.slice(end)];
}
