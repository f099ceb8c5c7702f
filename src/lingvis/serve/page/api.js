// The server's answers, and the ways in which it may refuse.

/** A refusal: the HTTP status (0 when nobody answered) and the server's sentence. */
export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

const PATIENCE = 10; // times that a busy server is asked again

/**
 * @param {string} path
 * @param {RequestInit & {busy?: (seconds: number) => void}} options `busy` hears how long is waited for a busy server
 */
async function request(path, { busy, ...options } = {}) {
  for (let tries = 1; ; tries++) {
    const answer = await reach(path, options);
    if (answer.ok) return answer;
    if (answer.status !== 429 || tries > PATIENCE) throw new Refused(answer.status, await sentence(answer));
    const seconds = Math.min(Math.max(Number(answer.headers.get("retry-after")) || 1, 1), 30);
    busy?.(seconds);
    await pause(seconds * 1000, options.signal);
  }
}

async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Refused(0, String(error));
  }
}

async function sentence(answer) {
  const body = await answer.json().catch(() => ({}));
  return typeof body.error === "string" ? body.error : `${answer.status} ${answer.statusText}`;
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

const json = async (path, options) => (await request(path, options)).json();
const item = (id) => `api/items/${encodeURIComponent(id)}`;
const send = (method, path, body) => json(path, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** The id stays when a picture is replaced: with its hash, the browser may keep the thumbnail. @param {string} [hash] */
export const thumbnailUrl = (id, hash) => `${item(id)}/thumbnail${hash ? `?v=${encodeURIComponent(hash)}` : ""}`;
export const pictureUrl = (id) => `${item(id)}/picture`;
export const videoUrl = (id) => `${item(id)}/video`;

export const getCollection = (options) => json("api/collection", options);
export const getItem = (id, options) => json(item(id), options);
export const getBlob = async (path, options) => (await request(path, options)).blob();

/** Pictures without words, the newest first. @param {Record<string, any>} fields */
export const browsePictures = (fields, options) => json(`api/browse?${parameters(fields)}`, options);
export const getTimeline = (fields, options) => json(`api/timeline?${parameters(fields)}`, options);
export const getFolders = (options) => json("api/folders", options);
export const getPlaces = (fields, options) => json(`api/places?${parameters(fields)}`, options);
export const getExamples = (lang, options) => json(`api/examples?${parameters({ lang })}`, options);

/** Pictures for words. @param {Record<string, any>} fields */
export const searchWords = (fields, options) => json(`api/search?${parameters(fields)}`, options);

/** Pictures like one of the collection. @param {string} id @param {Record<string, any>} fields */
export const searchSimilar = (id, fields, options) => json(`${item(id)}/similar?${parameters(fields)}`, options);

/** Pictures like a file, with or without words. @param {Blob} image @param {Record<string, any>} fields */
export function searchPicture(image, fields, options) {
  const body = new FormData();
  for (const [name, value] of parameters(fields)) body.append(name, value);
  body.append("image", image, image.name || "picture");
  return json("api/search", { ...options, method: "POST", body });
}

/** Pictures of an album. @param {Record<string, any>} fields */
export const getAlbumPictures = (fields, options) => json(`api/albums/pictures?${parameters(fields)}`, options);
export const getAlbums = () => json("api/albums");
export const getHashes = (album) => json(`api/albums/hashes?${parameters({ album })}`);
export const getAlbumsOf = (id) => json(`${item(id)}/albums`);
/** @param {{album: string, add?: string[], remove?: string[]}} change ids of pictures */
export const changeAlbum = (change) => send("POST", "api/albums", change);
export const renameAlbum = (album, name) => send("PATCH", "api/albums", { album, name });
export const deleteAlbum = (album) => json(`api/albums?${parameters({ album })}`, { method: "DELETE" });

/** @param {{ids?: string[], album?: string}} which */
export const prepareDownload = (which) => send("POST", "api/downloads", which);
export const downloadUrl = (id) => `api/downloads/${encodeURIComponent(id)}`;

export const getCollections = () => json("api/collections");

/** Show the token once; the server answers with a cookie. */
export const openSession = (token) =>
  request("api/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });

export const closeSession = () => request("api/session", { method: "DELETE" });

function parameters(fields) {
  const known = Object.entries(fields).filter(([, value]) => value !== "" && value !== undefined && value !== false);
  return new URLSearchParams(known.flatMap(([name, value]) => [value].flat().map((each) => [name, String(each)])));
}
