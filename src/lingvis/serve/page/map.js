// A map of the world's coasts with the places of the pictures; nothing is loaded from elsewhere.

import { getPlaces, thumbnailUrl } from "./api.js";
import { debounce, make } from "./dom.js";
import { icon } from "./icons.js";
import { filtersOf } from "./question.js";
import { label, number, say } from "./texts.js";

const UNITS = 20; // of the drawing per degree
const SVG = "http://www.w3.org/2000/svg";
const FINEST = 0.02; // degrees across the map at the largest scale
const ACROSS = 9; // squares across the map
const TOUCHING = 52; // pixels between two marks that do not touch
const MOST = 60; // marks
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

const clip = (value, most) => Math.min(Math.max(value, -most), most).toFixed(4);

export class PictureMap {
  /** @param {(area: string) => void} choose */
  constructor(choose) {
    this.choose = choose;
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("preserveAspectRatio", "none");
    this.svg.setAttribute("aria-hidden", "true");
    this.marks = make("div", { class: "marks" });
    this.frame = make("div", { class: "frame", tabIndex: 0, role: "group", keydown: (event) => this.#key(event) }, this.svg, this.marks);
    this.buttons = ["zoomIn", "zoomOut"].map((role, place) => make("button", { type: "button", class: "round", click: () => this.#scale(place ? 2 : 0.5) }, icon(role)));
    this.element = make("div", { class: "map", hidden: true }, this.frame, make("div", { class: "scale" }, ...this.buttons));
    this.refresh = debounce(() => this.#ask(), 200);
    this.frame.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    /** @type {Map<number, PointerEvent>} */
    this.fingers = new Map();
    this.frame.addEventListener("pointerdown", (event) => this.#press(event));
    this.frame.addEventListener("pointermove", (event) => this.#drag(event));
    for (const kind of ["pointerup", "pointercancel"]) this.frame.addEventListener(kind, (event) => this.fingers.delete(event.pointerId));
    new ResizeObserver(() => this.view && this.#draw()).observe(this.frame);
  }

  /** Returns whether any picture has a position. */
  async load() {
    this.places = (await getPlaces({ step: 1 })).places;
    return this.places.length > 0;
  }

  hide() {
    this.element.hidden = true;
  }

  /** @param {import("./question.js").Question} question */
  async show(question) {
    this.element.hidden = false;
    this.question = question;
    label(this.frame, say("mapHint"));
    for (const [place, key] of ["zoomIn", "zoomOut"].entries()) label(this.buttons[place], say(key));
    if (!this.view) {
      await this.#coasts();
      this.view = this.#around(this.places);
    }
    this.#draw();
    this.#ask();
  }

  async #coasts() {
    const text = await (await fetch(new URL("coasts.svg", import.meta.url))).text();
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", new DOMParser().parseFromString(text, "image/svg+xml").querySelector("path").getAttribute("d"));
    path.setAttribute("vector-effect", "non-scaling-stroke");
    this.svg.append(path);
  }

  /** A view with all places in it: middle and width in degrees. */
  #around(places) {
    const [lats, lons] = [places.map((place) => place.latitude), places.map((place) => place.longitude)];
    const [south, north, west, east] = [Math.min(...lats), Math.max(...lats), Math.min(...lons), Math.max(...lons)];
    const width = Math.min(360, Math.max((east - west) * 1.3, (north - south) * 1.3 * this.#ratio(), 12));
    return { lat: (south + north) / 2, lon: (west + east) / 2, width };
  }

  #ratio() {
    const box = this.frame.getBoundingClientRect();
    return box.height ? box.width / box.height : 2;
  }

  #bounds() {
    const { lat, lon, width } = this.view;
    const height = width / this.#ratio();
    return { south: lat - height / 2, north: lat + height / 2, west: lon - width / 2, east: lon + width / 2, height };
  }

  #draw() {
    const { west, north, height } = this.#bounds();
    this.svg.setAttribute("viewBox", [west * UNITS, -north * UNITS, this.view.width * UNITS, height * UNITS].map((value) => value.toFixed(2)).join(" "));
    for (const mark of this.marks.children) this.#put(mark);
  }

  #put(mark) {
    const { west, north, height } = this.#bounds();
    const [x, y] = [(mark.dataset.lon - west) / this.view.width, (north - mark.dataset.lat) / height];
    mark.hidden = x < 0 || x > 1 || y < 0 || y > 1;
    mark.style.insetInlineStart = "auto";
    mark.style.left = `${x * 100}%`;
    mark.style.top = `${y * 100}%`;
  }

  async #ask() {
    const { south, north, west, east } = this.#bounds();
    const area = [clip(south, 90), clip(west, 180), clip(north, 90), clip(east, 180)].join(",");
    const step = Math.max(this.view.width / ACROSS, 0.0005);
    this.running?.abort();
    const running = (this.running = new AbortController());
    try {
      const { places } = await getPlaces({ ...filtersOf(this.question), area, step }, { signal: running.signal });
      this.marks.replaceChildren(...this.#merged(places, step).map((place) => this.#mark(place)));
      this.#draw();
    } catch {
      // The map stays as it was; the pictures below say what went wrong.
    }
  }

  /** Places with their squares; those that would cover one another are one. */
  #merged(places, step) {
    const near = (this.view.width / this.frame.getBoundingClientRect().width) * TOUCHING;
    const marks = [];
    for (const place of places) {
      const [south, west] = [place.latitude, place.longitude].map((value) => Math.floor(value / step) * step);
      const other = marks.find((mark) => Math.abs(mark.latitude - place.latitude) < near && Math.abs(mark.longitude - place.longitude) < near);
      if (other) {
        other.pictures += place.pictures;
        const [a, b, c, d] = other.area;
        other.area = [Math.min(a, south), Math.min(b, west), Math.max(c, south + step), Math.max(d, west + step)];
      } else if (marks.length < MOST) marks.push({ ...place, area: [south, west, south + step, west + step] });
    }
    return marks;
  }

  #mark({ latitude, longitude, pictures, id, area }) {
    const mark = make(
      "button", { type: "button", class: "mark", "data-lat": String(latitude), "data-lon": String(longitude) },
      make("img", { src: thumbnailUrl(id), alt: "", draggable: false }), make("span", { class: "amount" }, number(pictures)),
    );
    label(mark, say("pictures", { n: pictures }));
    mark.addEventListener("click", () => {
      if (pictures > 1 && this.view.width > 2 * FINEST) {
        this.view = { lat: latitude, lon: longitude, width: Math.max(this.view.width / 4, FINEST) };
        this.#draw();
      }
      this.choose(area.map((value, place) => clip(value, place % 2 ? 180 : 90)).join(","));
    });
    return mark;
  }

  #scale(by, lat = this.view.lat, lon = this.view.lon) {
    const width = Math.min(Math.max(this.view.width * by, FINEST), 360);
    const share = width / this.view.width;
    this.view = { width, lat: lat + (this.view.lat - lat) * share, lon: lon + (this.view.lon - lon) * share };
    this.#keep();
  }

  #keep() {
    this.view.lat = Math.min(Math.max(this.view.lat, -90), 90);
    this.view.lon = Math.min(Math.max(this.view.lon, -180), 180);
    this.#draw();
    this.refresh();
  }

  #wheel(event) {
    event.preventDefault();
    const box = this.frame.getBoundingClientRect();
    const { west, north, height } = this.#bounds();
    const lon = west + ((event.clientX - box.left) / box.width) * this.view.width;
    const lat = north - ((event.clientY - box.top) / box.height) * height;
    this.#scale(event.deltaY > 0 ? 1.25 : 0.8, lat, lon);
  }

  #key(event) {
    if (event.target !== this.frame || event.ctrlKey || event.altKey || event.metaKey) return;
    const move = KEYS[event.key];
    if (move) [this.view.lon, this.view.lat] = [this.view.lon + (move[0] * this.view.width) / 8, this.view.lat + (move[1] * this.view.width) / 8];
    else if (event.key === "+" || event.key === "=") this.view.width = Math.max(this.view.width / 2, FINEST);
    else if (event.key === "-") this.view.width = Math.min(this.view.width * 2, 360);
    else return;
    event.preventDefault();
    this.#keep();
  }

  /** One finger or the mouse moves the map, two fingers scale it. */
  #press(event) {
    if (event.target.closest(".mark")) return;
    this.fingers.set(event.pointerId, event);
    this.frame.setPointerCapture(event.pointerId);
  }

  #drag(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    this.fingers.set(event.pointerId, event);
    const other = [...this.fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
    if (other) {
      const away = (finger) => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY);
      this.#scale(away(before) / Math.max(away(event), 1));
      return;
    }
    const box = this.frame.getBoundingClientRect();
    this.view.lon -= ((event.clientX - before.clientX) / box.width) * this.view.width;
    this.view.lat += ((event.clientY - before.clientY) / box.height) * this.#bounds().height;
    this.#keep();
  }
}
