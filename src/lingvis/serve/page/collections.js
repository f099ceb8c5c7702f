// The switch between the collections of a server.

import { getCollections } from "./api.js";
import { byId, make } from "./dom.js";
import { current } from "./place.js";

export async function offerCollections() {
  const select = byId("collection");
  const { collections, current: here } = await getCollections();
  select.hidden = collections.length < 2;
  if (select.hidden) return;
  select.replaceChildren(...collections.map(({ name, path }) => make("option", { value: path, selected: name === here }, name)));
  select.addEventListener("change", () => {
    const { words, lang } = current(); // pictures and albums are those of one collection
    const kept = new URLSearchParams(Object.entries({ q: words, lang }).filter(([, value]) => value));
    const start = /\/c\/[^/]+\/$/.test(location.pathname) ? "../.." : "."; // relative: a proxy may have the page below a path
    location.assign(`${start}${select.value}${kept.size ? `?${kept}` : ""}`);
  });
}
