// What the large view leafs through: the pictures of an answer, in their order.

/** @typedef {import("./grid.js").Hit} Hit */

export class Leaves {
  /** @param {Hit[]} hits @param {{more?: () => Promise<void>, unfinished?: () => boolean}} rest pictures that are not loaded yet */
  constructor(hits, { more = async () => {}, unfinished = () => false } = {}) {
    [this.hits, this.more, this.unfinished] = [hits, more, unfinished];
  }

  /** @param {string} id */
  find(id) {
    return this.hits.find((hit) => hit.id === id);
  }

  /** Whether a picture is the first or the last, as far as is known. @param {string} id */
  edges(id) {
    const place = this.hits.findIndex((hit) => hit.id === id);
    return { first: place <= 0, last: place < 0 || (place === this.hits.length - 1 && !this.unfinished()) };
  }

  /** The neighbour of a picture; more are loaded where needed. @param {string} id @param {number} by 1 or -1 */
  async step(id, by) {
    const place = this.hits.findIndex((hit) => hit.id === id);
    if (place + by >= this.hits.length) await this.more();
    return place < 0 ? undefined : this.hits[place + by];
  }
}
