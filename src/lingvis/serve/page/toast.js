// A sentence that appears at the foot of the page for a moment, wherever the page is scrolled to.

import { byId } from "./dom.js";
import { tellStatus } from "./notices.js";

const SECONDS = 5;
let timer = 0;

/** @param {string} text */
export function toast(text) {
  const box = byId("toast");
  tellStatus(text); // heard by screen readers, and there after the moment
  box.textContent = text;
  box.hidden = false;
  clearTimeout(timer);
  timer = setTimeout(() => (box.hidden = true), SECONDS * 1000);
}
