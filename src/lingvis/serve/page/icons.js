// Line drawings for buttons, 24 units square.

const PATHS = {
  search: "M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM15.3 15.3 20.5 20.5",
  picture: "M4 6.5h3l1.5-2h7l1.5 2h3v13H4zM12 9a4 4 0 1 1 0 8 4 4 0 0 1 0-8z",
  filter: "M4 7h10M18 7h2M16 5v4M4 17h2M10 17h10M8 15v4M4 12h4M12 12h8M10 10v4",
  columns: "M4 5h4.5v14H4zM9.75 5h4.5v14h-4.5zM15.5 5H20v14h-4.5z",
  settings: "M5 12h.01M12 12h.01M19 12h.01",
  close: "M6 6l12 12M18 6 6 18",
  previous: "M14.5 5 7.5 12l7 7",
  next: "M9.5 5l7 7-7 7",
  similar: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM16.5 13.5v6M13.5 16.5h6",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  add: "M12 5v14M5 12h14",
  check: "M5 12.5l4.5 4.5L19 7.5",
  heart: "M12 20s-7.5-4.6-7.5-10A4.3 4.3 0 0 1 12 7.2 4.3 4.3 0 0 1 19.5 10c0 5.4-7.5 10-7.5 10z",
  album: "M4 7.5h16v11.5H4zM6.5 4.5h11M14.5 15.5l-3.5-4-4 4.5",
  leave: "M4 7.5h16v11.5H4zM6.5 4.5h11M9 13.3h6",
  download: "M12 4v11M7.5 10.5 12 15l4.5-4.5M5 19.5h14",
  minus: "M6 12h12",
  clock: "M12 4.5a7.5 7.5 0 1 1 0 15 7.5 7.5 0 0 1 0-15zM12 8v4.3l2.8 1.7",
  rename: "M5 19l1-4L16 5l3 3L9 18zM13.5 7.5l3 3",
  delete: "M5 7h14M9.5 7V4.5h5V7M7 7l1 12.5h8L17 7M10.3 10.5v6M13.7 10.5v6",
  globe: "M12 4a8 8 0 1 1 0 16 8 8 0 0 1 0-16zM4 12h16M12 4c5 5 5 11 0 16M12 4c-5 5-5 11 0 16",
  folder: "M3.5 6.5h6l2 2.5h9v10h-17z",
  map: "M12 20.5c4-5 6.5-8 6.5-11a6.5 6.5 0 0 0-13 0c0 3 2.5 6 6.5 11zM12 7.2a2.4 2.4 0 1 1 0 4.8 2.4 2.4 0 0 1 0-4.8z",
  zoomIn: "M12 5v14M5 12h14",
  zoomOut: "M5 12h14",
  fullscreen: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  slideshow: "M8 5.5v13l10-6.5z",
  pause: "M8.5 5.5v13M15.5 5.5v13",
  stack: "M4 8h12v12H4zM8 8V4h12v12h-4",
  open: "M9 5H5v14h14v-4M13 5h6v6M19 5l-8 8",
};
const SVG = "http://www.w3.org/2000/svg";

/** @param {keyof typeof PATHS} name */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

/** Draw the icons that the page's own markup names. */
export function drawIcons() {
  for (const element of document.querySelectorAll("[data-icon]")) element.prepend(icon(element.dataset.icon));
}
