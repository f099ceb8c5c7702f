// Pictures of the server: one that it was too busy to give is asked for again.

import { getBlob } from "./api.js";

/**
 * @param {HTMLImageElement} image
 * @param {string} address
 * @param {{wanted: () => boolean, missing: () => void}} calls wanted: whether anybody still waits for it
 */
export function load(image, address, { wanted, missing }) {
  const again = async () => {
    image.addEventListener("error", missing, { once: true });
    const running = new AbortController();
    const busy = () => wanted() || running.abort();
    try {
      // Kept as long as the page: the large view takes it over, and few are refused.
      image.src = URL.createObjectURL(await getBlob(address, { signal: running.signal, busy }));
    } catch {
      missing();
    }
  };
  image.addEventListener("error", again, { once: true });
  image.src = address;
}
