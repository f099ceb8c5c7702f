// Moments of videos: their time on a tile, and a player that begins there.

import { thumbnailUrl, videoUrl } from "./api.js";
import { make } from "./dom.js";
import { icon } from "./icons.js";

/** @typedef {import("./grid.js").Hit} Hit */

/** @param {Hit} hit */
export const isMoment = (hit) => hit.second !== null && hit.second !== undefined;

/** A second as people read it: 0:42 or 1:02:03. @param {number} second */
export function clock(second) {
  const whole = Math.floor(second);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (value) => String(value).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** When a hit begins; without a query, how long its video is. @param {Hit} hit @returns {string | null} */
export function timeOf(hit) {
  if (!isMoment(hit)) return null;
  return clock(hit.score === undefined ? (hit.duration ?? hit.second) : hit.second);
}

/** The time on a tile. @param {Hit} hit */
export function timeMark(hit) {
  const time = timeOf(hit);
  return time && make("span", { class: "time", "aria-hidden": "true" }, icon("slideshow"), make("bdi", { dir: "ltr" }, time));
}

/** @param {Hit} hit @param {{played: () => void, failed: () => void, ready: () => void}} calls */
export function player(hit, { played, failed, ready }) {
  return make("video", {
    src: `${videoUrl(hit.id)}#t=${hit.second}`, poster: thumbnailUrl(hit.id, hit.hash),
    controls: true, preload: "metadata", playsInline: true, width: hit.width, height: hit.height, tabIndex: 0,
    play: played, error: failed, loadedmetadata: ready,
  });
}
