// What can be done with the picture in the large view: look for this one with a change, keep it, put it into an album.

import { isFavourite, onAlbums, toggleFavourites, writable } from "./albums.js";
import { make } from "./dom.js";
import { remember } from "./history.js";
import { icon } from "./icons.js";
import { pickAlbum } from "./picker.js";
import { go } from "./place.js";
import { NOTHING } from "./question.js";
import { label, say } from "./texts.js";

let again = () => {};
onAlbums(() => again());

/** @param {import("./albums.js").Picture} hit */
export function pictureActions(hit) {
  const problem = make("p", { class: "problem", role: "alert", dir: "auto" });
  const attempt = async (action) => {
    try {
      await action([hit]);
    } catch (refused) {
      problem.textContent = refused.status ? refused.message : say("offlineTitle");
    }
  };
  const heart = make("button", { type: "button", class: "plain heart", "data-role": "favourite", click: () => attempt(toggleFavourites) });
  const album = make("button", { type: "button", class: "plain", "data-role": "album", click: () => attempt((pictures) => pickAlbum(pictures)) }, icon("album"), say("addToAlbum"));
  const keep = make("p", { class: "actions" }, heart, album);
  again = () => {
    const loved = isFavourite(hit.hash);
    keep.hidden = !writable();
    heart.setAttribute("aria-pressed", String(loved));
    heart.replaceChildren(icon("heart"), say(loved ? "unfavourite" : "favourite"));
  };
  again();
  return make("div", { class: "more-of-it" }, changeForm(hit.id), keep, problem);
}

/** "This picture, but ..." */
function changeForm(id) {
  const field = make("input", { type: "text", name: "but", dir: "auto", autocomplete: "off", placeholder: say("but"), maxLength: 1000, "data-role": "but" });
  label(field, say("but"));
  const submit = (event) => {
    event.preventDefault();
    if (!field.value.trim()) return;
    remember(field.value);
    go({ ...NOTHING, like: id, words: field.value.trim() });
  };
  const send = make("button", { class: "round" }, icon("search"));
  label(send, say("searchBut"));
  return make("form", { class: "but", submit, keydown: (event) => event.key !== "Escape" && event.stopPropagation() }, field, send);
}
