// The menu of albums: open one, give it another name, delete it.

import { albums, albumTitle, FAVOURITES, onAlbums, remove, rename, writable } from "./albums.js";
import { byId, make } from "./dom.js";
import { download } from "./download.js";
import { icon } from "./icons.js";
import { current, go } from "./place.js";
import { NOTHING } from "./question.js";
import { label, say } from "./texts.js";

const menu = byId("albums");

export function listenToAlbums() {
  onAlbums(draw);
  menu.addEventListener("toggle", (event) => {
    if (event.newState === "open") draw();
  });
}

function draw() {
  byId("albums-button").hidden = !writable() && albums().every(({ pictures }) => !pictures);
  offer();
  if (!menu.matches(":popover-open")) return;
  const own = albums().filter(({ name }) => name !== FAVOURITES);
  menu.replaceChildren(
    make("h2", {}, say("albums")),
    make("ul", {}, ...albums().map(row)),
    ...(own.length ? [] : [make("p", {}, say("noAlbums"))]),
    make("p", { class: "problem", role: "alert", dir: "auto" }),
  );
}

/** The same albums in the filters. */
function offer() {
  const field = byId("filters").elements.album;
  const known = albums().map(({ name }) => name);
  const chosen = current().album;
  const names = chosen && !known.includes(chosen) ? [...known, chosen] : known;
  field.replaceChildren(make("option", { value: "" }, say("anyAlbum")), ...names.map((name) => make("option", { value: name }, albumTitle(name))));
  field.value = chosen;
}

function row({ name, pictures }) {
  const show = () => {
    menu.hidePopover();
    go({ ...NOTHING, album: name });
  };
  const item = make("li", {});
  const opens = make(
    "button", { type: "button", class: "entry", click: show },
    icon(name === FAVOURITES ? "heart" : "album"), make("bdi", {}, albumTitle(name)), make("span", { class: "tally" }, say("pictures", { n: pictures })),
  );
  if (current().album === name) opens.setAttribute("aria-current", "true");
  item.append(opens);
  if (pictures) item.append(button("download", say("downloadAlbum", { name: albumTitle(name) }), () => attempt(() => download({ album: name }))));
  if (writable() && name !== FAVOURITES) {
    item.append(
      button("rename", say("renameAlbum", { name }), () => item.replaceChildren(renaming(name))),
      button("delete", say("deleteAlbum", { name }), () => item.replaceChildren(deleting(name))),
    );
  }
  return item;
}

function renaming(name) {
  const field = make("input", { type: "text", value: name, maxLength: 100, required: true, dir: "auto", autocomplete: "off" });
  label(field, say("renameAlbum", { name }));
  const submit = (event) => {
    event.preventDefault();
    attempt(async () => {
      await rename(name, field.value.trim());
      if (current().album === name) go({ album: field.value.trim() }, { replace: true });
    });
  };
  const escape = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    draw();
  };
  queueMicrotask(() => field.select());
  return make("form", { submit, keydown: escape }, field, make("button", { class: "primary" }, say("rename")));
}

function deleting(name) {
  const sure = () =>
    attempt(async () => {
      await remove(name);
      if (current().album === name) go({ album: "" });
    });
  const no = make("button", { type: "button", class: "plain", click: draw }, say("cancel"));
  queueMicrotask(() => no.focus());
  return make("div", { class: "sure" }, make("p", {}, say("deleteSure", { name })), no, make("button", { type: "button", class: "primary", click: sure }, say("delete")));
}

async function attempt(action) {
  try {
    await action();
  } catch (refused) {
    menu.querySelector(".problem").textContent = refused.status ? refused.message : say("offlineTitle");
  }
}

function button(drawing, text, click) {
  const made = make("button", { type: "button", class: "round", click }, icon(drawing));
  label(made, text);
  return made;
}
