// The folders of the collection as a tree; one of them filters.

import { getFolders } from "./api.js";
import { make } from "./dom.js";
import { icon } from "./icons.js";
import { label, number, say } from "./texts.js";

/** @typedef {{name: string, path: string, total: number, children: Map<string, Folder>}} Folder */

export class Folders {
  /** @param {(folder: string) => void} choose */
  constructor(choose) {
    this.choose = choose;
    this.element = make("nav", { class: "folders" });
    /** @type {Folder | null} */
    this.root = null;
    this.chosen = "";
    /** Paths that are unfolded. @type {Set<string>} */
    this.unfolded = new Set();
  }

  /** Ask the server for the folders; returns whether there is more than one. */
  async load() {
    this.root = rootOf((await getFolders()).folders);
    this.unfolded.add(this.root.path);
    return this.root.children.size > 0;
  }

  /** @param {string} chosen the path of the folder that filters */
  show(chosen) {
    this.chosen = chosen.replace(/(?<=.)[\\/]+$/, "");
    label(this.element, say("folders"));
    if (!this.root) return;
    const all = { ...this.root, name: say("allFolders") };
    for (const folder of walk(this.root)) if (this.chosen.startsWith(`${folder.path}/`)) this.unfolded.add(folder.path);
    this.element.replaceChildren(make("ul", {}, this.#branch(all, { all: true })));
  }

  #branch(folder, { all = false } = {}) {
    const open = this.unfolded.has(folder.path);
    const current = all ? !this.chosen || this.chosen === folder.path : this.chosen === folder.path;
    const name = make(
      "button", { type: "button", class: "folder", "data-path": folder.path, click: () => this.choose(all ? "" : folder.path) },
      make("bdi", {}, folder.name), make("span", { class: "amount" }, number(folder.total)),
    );
    if (current) name.setAttribute("aria-current", "true");
    const line = make("div", { class: "line" }, folder.children.size && !all ? this.#twist(folder, open) : make("span", { class: "twist" }), name);
    const children = [...folder.children.values()].sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
    return make("li", {}, line, open && children.length ? make("ul", {}, ...children.map((child) => this.#branch(child))) : null);
  }

  #twist(folder, open) {
    const twist = make("button", { type: "button", class: "twist round", "aria-expanded": String(open) }, icon("next"));
    label(twist, say("subfolders", { name: folder.name }));
    twist.addEventListener("click", () => {
      this.unfolded[open ? "delete" : "add"](folder.path);
      this.show(this.chosen);
      this.element.querySelector(`[data-path="${CSS.escape(folder.path)}"]`)?.previousElementSibling.focus();
    });
    return twist;
  }
}

function* walk(folder) {
  yield folder;
  for (const child of folder.children.values()) yield* walk(child);
}

/** The deepest folder that holds all pictures. @param {{folder: string, pictures: number}[]} counts @returns {Folder} */
function rootOf(counts) {
  const top = { name: "", path: "", total: 0, own: 0, children: new Map() };
  for (const { folder, pictures } of counts) {
    let here = top;
    here.total += pictures;
    for (const name of folder.split(/[\\/]/).filter(Boolean)) {
      const path = `${here.path}/${name}`;
      if (!here.children.has(name)) here.children.set(name, { name, path: here === top && !folder.startsWith("/") ? name : path, total: 0, own: 0, children: new Map() });
      here = here.children.get(name);
      here.total += pictures;
    }
    here.own += pictures;
  }
  let root = top;
  while (root.children.size === 1 && !root.own) [root] = root.children.values();
  return root;
}
