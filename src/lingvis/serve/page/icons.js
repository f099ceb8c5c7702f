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
