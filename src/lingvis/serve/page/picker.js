// Choosing an album for pictures, or naming a new one.

import { addTo, albums, albumTitle, FAVOURITES, removeFrom } from "./albums.js";
import { getAlbumsOf } from "./api.js";
import { make } from "./dom.js";
import { icon } from "./icons.js";
import { label, say } from "./texts.js";
import { toast } from "./toast.js";

/**
 * Ask for an album, and put the pictures into it; of one picture it shows where it is, and may take it out again.
 * @param {import("./albums.js").Picture[]} pictures @param {() => void} [done]
 */
export async function pickAlbum(pictures, done) {
  const held = pictures.length === 1 ? (await getAlbumsOf(pictures[0].id)).albums : [];
  const dialog = make("dialog", { class: "picker" });
  const problem = make("p", { class: "problem", role: "alert", dir: "auto" });
  const put = async (album, inside) => {
    try {
      const n = inside ? await removeFrom(album, pictures) : await addTo(album, pictures);
      toast(say(inside ? "removed" : "added", { n, album: albumTitle(album) }));
      dialog.close();
      done?.();
    } catch (refused) {
      problem.textContent = refused.status ? refused.message : say("offlineTitle");
    }
  };
  const field = make("input", { type: "text", name: "album", maxLength: 100, required: true, dir: "auto", autocomplete: "off", placeholder: say("newAlbum") });
  label(field, say("newAlbum"));
  const submit = (event) => {
    event.preventDefault();
    if (field.value.trim()) put(field.value.trim(), false);
  };
  const close = make("button", { type: "button", class: "round", click: () => dialog.close() }, icon("close"));
  label(close, say("close"));
  dialog.append(
    make("header", {}, make("h2", {}, say("addToAlbum")), close),
    make("ul", {}, ...albums().map(({ name, pictures: count }) => entry(name, count, held.includes(name), put))),
    make("form", { submit }, field, make("button", { class: "primary" }, say("create"))),
    problem,
  );
  label(dialog, say("addToAlbum"));
  // The large view beneath must not take its keys or its closing for its own.
  for (const kind of ["keydown", "close", "cancel"]) dialog.addEventListener(kind, (event) => event.stopPropagation());
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
}

function entry(name, count, inside, put) {
  const drawing = inside ? "check" : name === FAVOURITES ? "heart" : "album";
  const made = make(
    "button", { type: "button", class: "entry", "aria-pressed": String(inside), click: () => put(name, inside) },
    icon(drawing), make("bdi", {}, albumTitle(name)), make("span", { class: "tally" }, say("pictures", { n: count })),
  );
  return make("li", {}, made);
}
