// Rows of one height each, filled from edge to edge, no picture cropped.

/**
 * @param {number[]} ratios width / height of each picture
 * @param {number} width of the rows
 * @param {number} target height that rows should have about
 * @param {number} gap between pictures
 * @returns {{width: number, height: number}[]} whole pixels; the widths and gaps of a full row add up to `width`
 */
export function justify(ratios, width, target, gap) {
  const sizes = [];
  let row = [];
  let sum = 0;
  for (const ratio of ratios.map(bounded)) {
    const before = heightOf(row.length, sum, width, gap);
    const after = heightOf(row.length + 1, sum + ratio, width, gap);
    // Close the row before this picture when that comes nearer to the target than taking it in.
    if (row.length && after < target && target - after > before - target) {
      sizes.push(...fill(row, before, width, gap));
      [row, sum] = [[], 0];
    }
    row.push(ratio);
    sum += ratio;
  }
  const last = heightOf(row.length, sum, width, gap);
  const full = last <= target * 1.15;
  sizes.push(...(full ? fill(row, last, width, gap) : row.map((ratio) => size(ratio, target, width))));
  return sizes;
}

/** Panoramas and towers would leave no room for others. */
const bounded = (ratio) => Math.min(Math.max(ratio || 1, 0.4), 3.5);

const heightOf = (count, sum, width, gap) => (count ? (width - (count - 1) * gap) / sum : Infinity);

const size = (ratio, height, width) => ({ width: Math.min(Math.floor(ratio * height), width), height: Math.floor(height) });

function fill(row, height, width, gap) {
  let left = width - (row.length - 1) * gap;
  return row.map((ratio, place) => {
    const own = place === row.length - 1 ? left : Math.floor(ratio * height);
    left -= own;
    return { width: own, height: Math.floor(height) };
  });
}
