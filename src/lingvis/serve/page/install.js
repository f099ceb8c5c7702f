// The page as an app: its own files are kept, so that it opens without the server; pictures and answers never are.

export function keepShell() {
  // Not there in private windows, and over plain http from another machine.
  navigator.serviceWorker?.register(new URL("../service-worker.js", import.meta.url)).catch(() => {});
}
