// Puts the parts together: a change of the question goes to the address, and from there to all that shows it.

import { getCollection, getItem } from "./api.js";
import { Compare } from "./compare.js";
import { byId, debounce, make, memory } from "./dom.js";
import { examples } from "./examples.js";
import { learnFolders, listenToFilters, NO_FILTERS, offerFilters, showFilters } from "./filters.js";
import { Grid } from "./grid.js";
import { drawIcons } from "./icons.js";
import { clearNotice, showNotice, showRefusal } from "./notices.js";
import { listenForPictures, showChip } from "./picture.js";
import { current, go, inside, onChange } from "./place.js";
import { isEmpty, NOTHING, sameAnswer } from "./question.js";
import { Results } from "./results.js";
import { listenToWords, offerLanguages, showDetected, showWords } from "./searchbox.js";
import { interfaceCode, INTERFACES, preferred, say, speak } from "./texts.js";
import { nameThemes } from "./theme.js";
import { Viewer } from "./viewer.js";

let collection = null;
let detected = "";
/** The pictures that the large view leafs through. */
let leaves = [];

const open = (id, hits = grid.hits) => {
  leaves = hits;
  go({ open: id });
};
const grid = new Grid(byId("grid"), open);
const results = new Results(grid, {
  heard(queries) {
    detected = queries[0]?.detected ? queries[0].lang : "";
    showDetected(queries, current());
    learnFolders(grid.hits);
  },
  reset: () => go(NO_FILTERS),
  furthest: () => collection.limits.offset,
});
const compare = new Compare((columns, how) => go({ columns }, how), open);
const viewer = new Viewer({
  async step(by) {
    const place = leaves.findIndex((hit) => hit.id === current().open);
    const here = current().open;
    const beyond = place + by >= leaves.length && leaves === grid.hits;
    if (beyond) await results.more();
    if (current().open !== here) return; // left meanwhile
    if (leaves[place + by]) go({ open: leaves[place + by].id }, { replace: true });
    else if (beyond) look(here, ""); // the last one, as is known now
  },
  similar: (id) => go({ ...NOTHING, like: id }),
  closed() {
    if (!current().open) return; // the history closed it
    if (inside()) history.back();
    else go({ open: "" }, { replace: true });
  },
});

/** @param {import("./question.js").Question} now @param {import("./question.js").Question} before */
function render(now, before) {
  showControls(now);
  if (collection && !sameAnswer(now, before)) answer(now);
  if (now.open !== before.open) look(now.open, before.open);
}

/** @param {import("./question.js").Question} question */
function showControls(question) {
  showWords(question);
  showFilters(question);
  showChip(question, () => go({ picture: null, like: "" }));
  byId("weight-row").hidden = question.compare || !question.words.trim() || (!question.picture && !question.like);
  byId("weight").value = String(question.weight);
  byId("compare-button").setAttribute("aria-pressed", String(question.compare));
  document.body.classList.toggle("comparing", question.compare);
}

function answer(question) {
  if (!question.compare) compare.hide();
  if (question.compare) {
    results.clear();
    compare.show(question, collection.languages);
  } else if (isEmpty(question)) {
    results.clear();
    greet();
  } else results.show(question);
}

async function look(id, before) {
  if (!id) {
    viewer.close();
    if (before && !byId("compare").hidden) byId("compare").querySelector(`[data-id="${CSS.escape(before)}"]`)?.focus();
    else if (before && !grid.focus(before)) byId("words").focus();
    return;
  }
  const place = leaves.findIndex((hit) => hit.id === id);
  try {
    const hit = leaves[place] ?? (await getItem(id));
    const more = leaves === grid.hits && results.unfinished;
    viewer.show(hit, { first: place <= 0, last: place < 0 || (place === leaves.length - 1 && !more) });
  } catch (refused) {
    showRefusal(refused, () => look(id, ""));
  }
}

/** What is seen before the first question. */
async function greet() {
  if (!collection.pictures) return showNotice(say("noPicturesTitle"), say("noPictures"));
  const list = make("p", { class: "examples" });
  const numbers = [say("pictures", { n: collection.pictures }), say("languages", { n: collection.languages.length })];
  const about = make("p", { class: "about" }, numbers.join(" · "));
  showNotice(say("emptyTitle"), say("emptyText"), list, about);
  for (const { words, lang } of await examples(collection, interfaceCode())) {
    list.append(make("button", { type: "button", class: "plain", dir: "auto", lang, click: () => go({ words }) }, words));
  }
}

async function start() {
  try {
    collection = await getCollection();
  } catch (refused) {
    return showRefusal(refused, start);
  }
  clearNotice();
  name();
  answer(current());
  if (current().open) look(current().open, "");
}

/** Put the names of things that depend on interface language and collection into the page. */
function name() {
  nameThemes();
  if (collection) {
    offerLanguages(collection.languages);
    offerFilters(collection);
  }
  showControls(current());
}

async function translate(code) {
  await speak(code);
  name();
  if (collection) answer(current());
}

drawIcons();
onChange(render);
listenToWords((change, how) => go(change, how));
listenToFilters((change) => go(change));
listenForPictures({
  take: (picture) => go({ picture, like: "", compare: false }),
  refuse: (sentence) => showNotice(say("errorTitle"), sentence),
  limit: () => collection?.limits.upload_bytes,
});
addEventListener("locked", (event) => showRefusal(event.detail, start));
byId("weight").addEventListener("input", debounce(() => go({ weight: Number(byId("weight").value) }, { replace: true }), 150));
byId("home").addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(NOTHING);
  byId("words").focus();
});
byId("compare-button").addEventListener("click", () => {
  const now = current();
  if (now.compare) go({ compare: false, words: now.columns[0]?.words ?? "", lang: now.columns[0]?.lang ?? "" });
  else if (collection) go({ compare: true, picture: null, like: "", columns: Compare.begin(now, collection.languages, detected) });
});
byId("interface").replaceChildren(...Object.entries(INTERFACES).map(([code, own]) => make("option", { value: code, lang: code }, own)));
byId("interface").addEventListener("change", (event) => {
  memory.set("interface", event.target.value);
  translate(event.target.value);
});

await speak(preferred());
byId("interface").value = interfaceCode();
name();
byId("words").focus();
await start();
