// Marks on a tile: a corner to choose it by, and a heart where it is a favourite.

import { make } from "./dom.js";
import { icon } from "./icons.js";

/** Screen readers hear both from the tile itself. */
export const marks = () => [
  make("span", { class: "check", "aria-hidden": "true" }, icon("check")),
  make("span", { class: "loved", "aria-hidden": "true" }, icon("heart")),
];
