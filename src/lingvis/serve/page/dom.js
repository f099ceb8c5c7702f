// Elements by id, and new ones in one expression.

/** @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/**
 * @param {string} tag
 * @param {Record<string, any>} properties functions become listeners, `class` and names with a dash attributes, the rest properties
 * @param {...(Node | string | null | undefined)} children
 * @returns {any}
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === undefined || value === null) continue;
    else if (name === "class" || name === "role" || name.includes("-")) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Wait until a listener has not been called for some time, then call it once. */
export function debounce(listener, milliseconds) {
  let timer = 0;
  const later = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => listener(...values), milliseconds);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/** What the browser keeps between visits; a private window may keep nothing. */
export const memory = {
  get(name) {
    try {
      return localStorage.getItem(`lingvis.${name}`);
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      if (value) localStorage.setItem(`lingvis.${name}`, value);
      else localStorage.removeItem(`lingvis.${name}`);
    } catch {
      // Then the choice lasts as long as the page does.
    }
  },
};
