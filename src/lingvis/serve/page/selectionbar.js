// What can be done with the chosen pictures.

import { FAVOURITES, isFavourite, onAlbums, removeFrom, toggleFavourites, writable } from "./albums.js";
import { byId, make } from "./dom.js";
import { download } from "./download.js";
import { icon } from "./icons.js";
import { pickAlbum } from "./picker.js";
import { current, go, onChange } from "./place.js";
import { NOTHING } from "./question.js";
import { Selection } from "./selection.js";
import { interfaceCode, label, say } from "./texts.js";
import { toast } from "./toast.js";

const bar = byId("selection");
const selection = new Selection(show);
let drawn = "";

/** Run an action of the bar; what the server refuses is said in the status line. */
async function attempt(action) {
  try {
    await action(selection.pictures);
  } catch (refused) {
    toast(refused.status ? refused.message : say("offlineTitle"));
    if (refused.status === 401) dispatchEvent(new CustomEvent("locked", { detail: refused }));
  }
}

function show() {
  const { pictures } = selection;
  bar.hidden = !pictures.length;
  document.body.classList.toggle("selecting", !bar.hidden);
  if (bar.hidden) return;
  draw();
  bar.querySelector(".number").textContent = say("selected", { n: pictures.length });
  const loved = pictures.every(({ hash }) => isFavourite(hash));
  const heart = bar.querySelector('[data-role="favourite"]');
  heart?.setAttribute("aria-pressed", String(loved));
  if (heart) name(heart, loved ? "unfavourite" : "favourite");
  bar.querySelector('[data-role="but"]').hidden = pictures.length !== 1;
}

/** Once for a language, an album and a kind of server, so that a button keeps the focus. */
function draw() {
  const { album } = current();
  const wanted = [interfaceCode(), album, writable()].join("|");
  if (wanted === drawn) return;
  drawn = wanted;
  const leave = async (pictures) => {
    toast(say("removed", { n: await removeFrom(album, pictures), album }));
    selection.clear();
  };
  bar.replaceChildren(
    button("close", "clearSelection", () => selection.clear()),
    make("span", { class: "number", role: "status" }),
    ...(writable()
      ? [
          button("heart", "favourite", () => attempt(toggleFavourites), "favourite"),
          button("album", "addToAlbum", () => attempt((pictures) => pickAlbum(pictures, () => selection.clear())), "album"),
          album && album !== FAVOURITES ? button("leave", "removeFromAlbum", () => attempt(leave), "leave") : null,
        ].filter(Boolean)
      : []),
    button("download", "download", () => attempt((pictures) => download({ ids: pictures.map(({ id }) => id) })), "download"),
    button("similar", "but", () => {
      const [{ id }] = selection.pictures;
      selection.clear();
      go({ ...NOTHING, like: id });
      byId("words").focus();
    }, "but"),
  );
}

function button(drawing, text, click, role) {
  const made = make("button", { type: "button", class: role ? "tool" : "round", "data-role": role, click }, icon(drawing));
  if (role) made.append(make("span", { class: "word" }, say(text)));
  label(made, say(text));
  return made;
}

function name(made, text) {
  made.querySelector(".word").textContent = say(text);
  label(made, say(text));
}

/** Show on the tiles which are favourites. */
function markFavourites() {
  for (const tile of byId("results").querySelectorAll(".tile[data-hash]")) {
    const loved = isFavourite(tile.dataset.hash);
    tile.classList.toggle("favourite", loved);
    if (loved) tile.setAttribute("aria-description", say("favourites"));
    else if (tile.getAttribute("aria-description") === say("favourites")) tile.removeAttribute("aria-description");
  }
  if (!bar.hidden) show();
}

export function listenToSelection() {
  onAlbums(markFavourites);
  onChange(() => {
    if (!bar.hidden) show();
  });
  new MutationObserver(markFavourites).observe(byId("results"), { childList: true, subtree: true });
}
