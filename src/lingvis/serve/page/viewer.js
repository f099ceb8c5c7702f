// The large view: one picture under the hand, what is known of it, its neighbours, and others like it.

import { pictureUrl, thumbnailUrl, videoUrl } from "./api.js";
import { details } from "./details.js";
import { byId, make } from "./dom.js";
import { groupOf } from "./duplicates.js";
import { nameOf } from "./grid.js";
import { icon } from "./icons.js";
import { linked } from "./links.js";
import { isMoment, player } from "./moments.js";
import { load } from "./patient.js";
import { pictureActions } from "./pictureactions.js";
import { label, say } from "./texts.js";
import { Zoom } from "./zoom.js";

/** @typedef {import("./grid.js").Hit} Hit */

const SECONDS = 4; // that the slideshow shows a picture
const KEYS = { "+": 1, "=": 1, "-": -1, 0: 0 };

export class Viewer {
  /** @param {{step: (by: number) => void, similar: (id: string) => void, open: (id: string) => void, onMap: (area: string) => void, closed: () => void}} calls */
  constructor(calls) {
    this.calls = calls;
    this.dialog = byId("viewer");
    this.playing = false;
    this.dialog.addEventListener("close", () => {
      this.#leave();
      if (!this.dialog.open) calls.closed();
    });
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("fullscreenchange", () => document.fullscreenElement || this.#fill(false));
  }

  /** @param {Hit} hit @param {{first: boolean, last: boolean}} place among its neighbours */
  show(hit, place) {
    const held = this.dialog.contains(document.activeElement) ? document.activeElement.dataset.role : undefined;
    this.dialog.replaceChildren(this.#stage(hit, place), this.#facts(hit));
    label(this.dialog, nameOf(hit.path));
    if (!this.dialog.open) this.dialog.showModal();
    const wanted = held && this.dialog.querySelector(`[data-role="${held}"]:not(:disabled)`);
    (wanted || this.dialog.querySelector(`[data-role="${this.dialog.classList.contains("full") ? "fullscreen" : "close"}"]`)).focus();
    if (place.last) this.#play(false);
  }

  close() {
    if (this.dialog.open) this.dialog.close();
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const mirrored = getComputedStyle(this.dialog).direction === "rtl";
    const by = { ArrowRight: mirrored ? -1 : 1, ArrowLeft: mirrored ? 1 : -1 }[event.key];
    if (event.target.matches("video")) return; // it has keys of its own
    if (by) this.calls.step(by);
    else if (event.key in KEYS) this.zoom?.step(KEYS[event.key]);
    else if (event.key === "f") this.#fill(!this.dialog.classList.contains("full"));
    else return;
    event.preventDefault();
  }

  #stage(hit, { first, last }) {
    const gone = make("p", { class: "gone", role: "status" });
    const shown = isMoment(hit) ? this.#video(hit, gone) : this.#picture(hit, gone);
    const stage = make(
      "div", { class: "stage" },
      shown, gone,
      button("previous", () => this.calls.step(-1), { disabled: first }),
      button("next", () => this.calls.step(1), { disabled: last }),
      this.#tools(last, isMoment(hit)),
      this.#group(hit),
    );
    const mirrored = document.documentElement.dir === "rtl";
    this.zoom = isMoment(hit) ? null : new Zoom(stage, shown, (by) => this.calls.step(mirrored ? -by : by));
    return stage;
  }

  #video(hit, gone) {
    const shown = player(hit, {
      played: () => this.#play(false),
      ready: () => this.#wait(shown),
      failed: () => {
        gone.textContent = say("unplayable");
        this.#wait(shown);
      },
    });
    label(shown, nameOf(hit.path));
    return shown;
  }

  #picture(hit, gone) {
    // The thumbnail is there at once; the picture takes its place when it has come.
    const shown = make("img", { src: thumbnailUrl(hit.id, hit.hash), alt: hit.note ?? nameOf(hit.path), width: hit.width, height: hit.height, draggable: false });
    // Small pictures are not blown up to a blur.
    [shown.style.maxWidth, shown.style.maxHeight] = [`${2 * hit.width}px`, `${2 * hit.height}px`];
    const large = new Image();
    large.onload = () => {
      shown.src = large.src;
      this.#wait(shown);
    };
    load(large, pictureUrl(hit.id), {
      wanted: () => shown.isConnected,
      missing: () => {
        gone.textContent = say("gone");
        this.#wait(shown);
      },
    });
    return shown;
  }

  #tools(last, plays) {
    const play = button(this.playing ? "pause" : "slideshow", () => this.#play(!this.playing), { disabled: last, "data-role": "slideshow" });
    const full = button("fullscreen", () => this.#fill(!this.dialog.classList.contains("full")));
    const zooms = plays ? [] : [button("zoomIn", () => this.zoom.step(1)), button("zoomOut", () => this.zoom.step(-1))];
    return make("div", { class: "stage-tools" }, play, ...zooms, full);
  }

  /** Copies and shots of the same series, to choose from. */
  #group(hit) {
    const group = groupOf(hit.id);
    if (group.length < 2) return null;
    const list = make("ul", { class: "strip" }, ...group.map((other, place) => {
      const chosen = make("button", { type: "button", click: () => this.calls.open(other.id) }, make("img", { src: thumbnailUrl(other.id, other.hash), alt: "" }));
      label(chosen, `${place + 1}. ${nameOf(other.path)}`);
      if (other.id === hit.id) chosen.setAttribute("aria-current", "true");
      return make("li", {}, chosen);
    }));
    label(list, say("alike", { n: group.length }));
    return list;
  }

  /** Play or stop the slideshow. */
  #play(playing) {
    this.playing = playing;
    clearTimeout(this.timer);
    const made = this.dialog.querySelector('[data-role="slideshow"]');
    if (made) {
      made.replaceChildren(icon(playing ? "pause" : "slideshow"));
      label(made, say(playing ? "pause" : "slideshow"));
    }
    if (playing) this.#wait(this.dialog.querySelector(".stage > img, .stage > video"));
  }

  /** The next picture comes some seconds after this one could be seen. */
  #wait(shown) {
    clearTimeout(this.timer);
    if (this.playing) this.timer = setTimeout(() => shown.isConnected && this.calls.step(1), SECONDS * 1000);
  }

  /** Fill the screen, or the window where a browser allows no more. */
  #fill(full) {
    this.dialog.classList.toggle("full", full);
    if (full) {
      this.dialog.querySelector('[data-role="fullscreen"]').focus();
      document.documentElement.requestFullscreen?.().catch(() => {});
    } else if (document.fullscreenElement) document.exitFullscreen();
  }

  #leave() {
    this.#play(false);
    this.#fill(false);
    this.dialog.querySelector("video")?.pause();
  }

  #facts(hit) {
    const note = hit.note && make("blockquote", { dir: "auto", lang: hit.lang ?? "" }, ...linked(hit.note));
    const similar = { type: "button", class: "primary", "data-role": "similar", click: () => this.calls.similar(hit.id) };
    const file = { class: "plain", href: isMoment(hit) ? videoUrl(hit.id) : pictureUrl(hit.id) };
    return make(
      "aside", {},
      button("close", () => this.close()),
      make("h2", {}, make("bdi", { dir: "ltr" }, nameOf(hit.path))),
      note,
      pictureActions(hit),
      details(hit, this.calls),
      make(
        "p", { class: "actions" },
        make("button", similar, icon("similar"), say("similar")),
        make("a", { ...file, download: nameOf(hit.path) }, icon("download"), say("download")),
        make("a", { ...file, target: "_blank", rel: "noopener" }, icon("open"), say("original")),
      ),
    );
  }
}

function button(role, click, properties = {}) {
  const made = make("button", { type: "button", class: `round ${role}`, "data-role": role, click, ...properties }, icon(role));
  label(made, say(role));
  return made;
}
