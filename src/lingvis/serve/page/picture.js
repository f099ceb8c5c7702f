// A picture as the question: dropped anywhere, pasted, or chosen; shown as a chip.

import { thumbnailUrl } from "./api.js";
import { byId, make } from "./dom.js";
import { icon } from "./icons.js";
import { bytes, interfaceCode, label, say } from "./texts.js";

const SIDE = 1024; // more than any model looks at; keeps repeated questions light
const LIGHT = 500_000; // bytes that are sent as they are

/**
 * Listen for pictures; limit tells the bytes that the server takes.
 * @param {{take: (file: File) => void, refuse: (sentence: string) => void, limit: () => number | undefined}} calls
 */
export function listenForPictures({ take, refuse, limit }) {
  const receive = async (file) => {
    if (!file) return;
    if (!looksLikePicture(file)) return refuse(say("notPicture", { name: file.name }));
    const small = await shrink(file);
    if (small.size > (limit() ?? Infinity)) refuse(say("tooLarge", { size: bytes(small.size), limit: bytes(limit()) }));
    else take(small);
  };
  byId("choose").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", (event) => {
    receive(event.target.files[0]);
    event.target.value = ""; // the same file may be chosen again
  });
  addEventListener("paste", (event) => {
    const file = [...(event.clipboardData?.files ?? [])].find((each) => each.type.startsWith("image/"));
    if (!file) return;
    event.preventDefault();
    receive(file);
  });
  listenForDrops(receive);
}

/** Browsers know no type for some formats that the server reads. */
const looksLikePicture = (file) => file.type.startsWith("image/") || /\.(hei[cf]|tiff?)$/i.test(file.name);

function listenForDrops(receive) {
  const veil = byId("drop");
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    veil.hidden = false;
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) veil.hidden = true; // left the window, not just an element
  });
  addEventListener("drop", (event) => {
    veil.hidden = true;
    if (!hasFiles(event)) return;
    event.preventDefault();
    receive(event.dataTransfer.files[0]);
  });
}

/** A large photo, made small before it travels; what the browser cannot read travels as it is. */
async function shrink(file) {
  if (file.size <= LIGHT) return file;
  const bitmap = await createImageBitmap(file).catch(() => null);
  if (!bitmap) return file;
  const scale = Math.min(1, SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = make("canvas", { width: Math.max(1, bitmap.width * scale), height: Math.max(1, bitmap.height * scale) });
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.9));
  return blob && blob.size < file.size ? new File([blob], file.name, { type: blob.type }) : file;
}

let address = "";
/** What the chip shows, so that typing does not draw it again. @type {any[]} */
let drawn = [];

/** Show the picture of a question beside its words. @param {import("./question.js").Question} question */
export function showChip(question, remove) {
  const chip = byId("chip");
  const wanted = [question.picture, question.like, interfaceCode()];
  if (wanted.every((part, place) => part === drawn[place])) return;
  drawn = wanted;
  if (address) URL.revokeObjectURL(address);
  address = question.picture ? URL.createObjectURL(question.picture) : "";
  chip.hidden = !question.picture && !question.like;
  chip.replaceChildren();
  if (chip.hidden) return;
  const text = question.picture ? say("yourPicture", { name: question.picture.name }) : say("similarTo");
  const image = make("img", { src: address || thumbnailUrl(question.like), alt: text, title: text });
  image.addEventListener("error", () => image.replaceWith(icon("picture"))); // a format that the browser cannot draw
  const button = make("button", { type: "button", class: "round", click: remove }, icon("close"));
  label(button, say("removePicture"));
  chip.append(image, button);
}
