// Several pictures as one file: the server is told which, and the browser fetches it like any other download.

import { downloadUrl, prepareDownload } from "./api.js";
import { make } from "./dom.js";
import { bytes, say } from "./texts.js";
import { toast } from "./toast.js";

/** @param {{ids?: string[], album?: string}} which */
export async function download(which) {
  const { id, pictures, bytes: size } = await prepareDownload(which);
  make("a", { href: downloadUrl(id), download: "" }).click();
  toast(say("downloading", { n: pictures, size: bytes(size) }));
}
