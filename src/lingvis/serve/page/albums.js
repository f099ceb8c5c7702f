// Albums as the server keeps them, and which pictures are favourites.

import { changeAlbum, deleteAlbum, getAlbums, getHashes, renameAlbum } from "./api.js";
import { say } from "./texts.js";

export const FAVOURITES = "favourites";
const FRESH = 3000; // milliseconds

/** @typedef {{id: string, hash: string}} Picture */

let state = { albums: [], writable: false };
let favourites = new Set();
let loaded = 0;
const listeners = [];

export const albums = () => state.albums;
/** Whether this server lets the page change albums. */
export const writable = () => state.writable;
/** @param {string} hash */
export const isFavourite = (hash) => favourites.has(hash);
export const onAlbums = (listener) => listeners.push(listener);
/** What the page calls an album. @param {string} name */
export const albumTitle = (name) => (name === FAVOURITES ? say("favourites") : name);

export async function loadAlbums() {
  const [listed, { hashes }] = await Promise.all([getAlbums(), getHashes(FAVOURITES)]);
  [state, favourites, loaded] = [listed, new Set(hashes), Date.now()];
  tell();
}

/** @param {string} album @param {Picture[]} pictures @returns {Promise<number>} how many are new in it */
export async function addTo(album, pictures) {
  const { added } = await changeAlbum({ album, add: pictures.map(({ id }) => id) });
  await settle(album);
  return added;
}

/** @param {string} album @param {Picture[]} pictures @returns {Promise<number>} how many were in it */
export async function removeFrom(album, pictures) {
  const { removed } = await changeAlbum({ album, remove: pictures.map(({ id }) => id) });
  await settle(album);
  return removed;
}

/** Tell all that show an album, and those that show its pictures. */
async function settle(album) {
  await loadAlbums();
  dispatchEvent(new CustomEvent("albumchanged", { detail: album }));
}

/** Make favourites of pictures, or, where all of them are, no favourites any more. @param {Picture[]} pictures */
export const toggleFavourites = (pictures) =>
  pictures.every(({ hash }) => isFavourite(hash)) ? removeFrom(FAVOURITES, pictures) : addTo(FAVOURITES, pictures);

export async function rename(album, name) {
  await renameAlbum(album, name);
  await loadAlbums();
}

export async function remove(album) {
  await deleteAlbum(album);
  await loadAlbums();
}

function tell() {
  for (const listener of listeners) listener();
}

// Another browser may have changed them meanwhile.
addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && loaded && Date.now() - loaded > FRESH) loadAlbums().catch(() => {});
});
