// Puts the parts together: a change of the question goes to the address, and from there to all that shows it.

import { listenToAlbums } from "./albummenu.js";
import { loadAlbums } from "./albums.js";
import { getCollection, getItem } from "./api.js";
import { Browse } from "./browse.js";
import { listenToChips, showChips, showUnderstood } from "./chips.js";
import { offerCollections } from "./collections.js";
import { Compare } from "./compare.js";
import { showUnknown } from "./confidence.js";
import { byId, debounce, make, memory } from "./dom.js";
import { learnFolders, listenToFilters, NO_FILTERS, offerFilters, showFilters } from "./filters.js";
import { Grid } from "./grid.js";
import { listenToHistory } from "./history.js";
import { drawIcons } from "./icons.js";
import { keepShell } from "./install.js";
import { Leaves } from "./leaves.js";
import { clearNotice, showNotice, showRefusal } from "./notices.js";
import { listenForPictures, showChip } from "./picture.js";
import { current, go, inside, onChange } from "./place.js";
import { isEmpty, NOTHING, sameAnswer } from "./question.js";
import { Results } from "./results.js";
import { listenToSelection } from "./selectionbar.js";
import { listenToWords, offerLanguages, showDetected, showWords } from "./searchbox.js";
import { interfaceCode, INTERFACES, preferred, say, speak } from "./texts.js";
import { nameThemes } from "./theme.js";
import { Viewer } from "./viewer.js";

let collection = null;
let detected = "";
/** The pictures that the large view leafs through. */
let leaves = new Leaves([]);

const open = (id, among) => {
  leaves = among;
  go({ open: id });
};
const grid = new Grid(byId("grid"), (id) => open(id, new Leaves(grid.hits, { more: () => results.more(), unfinished: () => results.unfinished })));
const results = new Results(grid, {
  heard(queries, without) {
    detected = queries[0]?.detected ? queries[0].lang : "";
    showDetected(queries, current());
    showUnderstood(queries, without);
    showUnknown(queries);
    learnFolders(grid.hits);
  },
  reset: () => go(NO_FILTERS),
  furthest: () => collection.limits.offset,
});
const compare = new Compare((columns, how) => go({ columns }, how), (id, hits) => open(id, new Leaves(hits)));
const browse = new Browse({ open: (id) => open(id, browse), go, reset: () => go(NO_FILTERS) });
const viewer = new Viewer({
  async step(by) {
    const here = current().open;
    const to = await leaves.step(here, by);
    if (current().open !== here) return; // left meanwhile
    if (to) go({ open: to.id }, { replace: true });
    else look(here, ""); // the last one, as is known now
  },
  open: (id) => go({ open: id }, { replace: true }),
  onMap: (area) => go({ ...NOTHING, area, view: "map" }),
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
  showChips(question);
  byId("weight-row").hidden = question.compare || !question.words.trim() || (!question.picture && !question.like);
  byId("weight").value = String(question.weight);
  byId("compare-button").setAttribute("aria-pressed", String(question.compare));
  document.body.classList.toggle("comparing", question.compare);
}

function answer(question) {
  showUnknown([]);
  if (!question.compare) compare.hide();
  if (question.compare || !isEmpty(question)) browse.hide();
  if (question.compare) {
    results.clear();
    compare.show(question, collection.languages);
  } else if (isEmpty(question)) {
    results.clear();
    if (collection.pictures) browse.show(question, collection);
    else showNotice(say("noPicturesTitle"), say("noPictures"));
  } else results.show(question);
}

async function look(id, before) {
  if (!id) {
    viewer.close();
    if (before && !byId("compare").hidden) byId("compare").querySelector(`[data-id="${CSS.escape(before)}"]`)?.focus();
    else if (before && !browse.focus(before) && !grid.focus(before)) byId("words").focus();
    return;
  }
  try {
    viewer.show(leaves.find(id) ?? (await getItem(id)), leaves.edges(id));
  } catch (refused) {
    showRefusal(refused, () => look(id, ""));
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
  loadAlbums().catch(() => {}); // without them the page still searches
  offerCollections().catch(() => {});
  answer(current());
  if (current().open) look(current().open, "");
}

/** Put the names of things that depend on interface language and collection into the page. */
function name() {
  nameThemes();
  if (collection) {
    offerLanguages(collection.languages, collection.uses_language);
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
keepShell();
onChange(render);
listenToWords((change, how) => go(change, how));
listenToFilters((change) => go(change));
listenToAlbums();
listenToChips();
listenToHistory((words) => go({ words }));
listenToSelection();
addEventListener("albumchanged", (event) => event.detail === current().album && !current().open && answer(current()));
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
