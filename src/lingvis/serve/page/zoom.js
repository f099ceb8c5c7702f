// A picture under the hand: wheel, pinch and double click enlarge it, dragging moves it, swiping leafs.

const LARGEST = 8;
const STEP = 1.6;
const SWIPE = 60; // pixels that a finger travels to leaf

export class Zoom {
  /** @param {HTMLElement} stage @param {HTMLElement} picture in it @param {(by: number) => void} swipe */
  constructor(stage, picture, swipe) {
    [this.stage, this.picture, this.swipe] = [stage, picture, swipe];
    [this.scale, this.x, this.y] = [1, 0, 0];
    /** @type {Map<number, PointerEvent>} */
    this.fingers = new Map();
    stage.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    stage.addEventListener("dblclick", (event) => event.target.closest("button, a") || this.toggle(event));
    stage.addEventListener("pointerdown", (event) => this.#press(event));
    stage.addEventListener("pointermove", (event) => this.#drag(event));
    for (const kind of ["pointerup", "pointercancel"]) stage.addEventListener(kind, (event) => this.#lift(event));
  }

  /** Enlarge or shrink by one step. @param {number} direction 1 or -1; 0: as at first */
  step(direction) {
    this.#to(direction ? this.scale * STEP ** direction : 1);
  }

  /** @param {{clientX: number, clientY: number}} [at] */
  toggle(at) {
    this.#to(this.scale > 1 ? 1 : 2.5, at);
  }

  #to(scale, at) {
    const box = this.stage.getBoundingClientRect();
    // Measured from the middle of the stage: the point below the hand stays there.
    const [px, py] = at ? [at.clientX - box.left - box.width / 2, at.clientY - box.top - box.height / 2] : [0, 0];
    const next = scale < 1.01 ? 1 : Math.min(scale, LARGEST);
    const share = next / this.scale;
    [this.x, this.y] = [px - (px - this.x) * share, py - (py - this.y) * share];
    this.scale = next;
    this.#draw();
  }

  #draw() {
    const box = this.stage.getBoundingClientRect();
    const most = (side) => (side * (this.scale - 1)) / 2;
    this.x = Math.min(Math.max(this.x, -most(box.width)), most(box.width));
    this.y = Math.min(Math.max(this.y, -most(box.height)), most(box.height));
    this.picture.style.transform = this.scale === 1 ? "" : `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
    this.stage.classList.toggle("zoomed", this.scale > 1);
  }

  #wheel(event) {
    event.preventDefault();
    this.#to(this.scale * (event.deltaY < 0 ? 1.2 : 1 / 1.2), event);
  }

  #press(event) {
    if (event.target.closest("button, a")) return;
    this.fingers.set(event.pointerId, event);
    if (event.pointerType !== "mouse" || this.scale > 1) this.stage.setPointerCapture(event.pointerId);
    if (this.fingers.size === 1) this.start = event;
    else this.start = null; // two fingers pinch
  }

  #drag(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    this.fingers.set(event.pointerId, event);
    const other = [...this.fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
    if (other) {
      const away = (finger) => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY);
      const middle = { clientX: (event.clientX + other.clientX) / 2, clientY: (event.clientY + other.clientY) / 2 };
      this.#to(this.scale * (away(event) / Math.max(away(before), 1)), middle);
    } else if (this.scale > 1) {
      [this.x, this.y] = [this.x + event.clientX - before.clientX, this.y + event.clientY - before.clientY];
      this.#draw();
    } else if (event.pointerType === "touch" && this.start) {
      this.picture.style.transform = `translateX(${event.clientX - this.start.clientX}px)`;
    }
  }

  #lift(event) {
    if (!this.fingers.delete(event.pointerId)) return;
    if (this.scale > 1 || event.pointerType !== "touch" || !this.start) return;
    this.picture.style.transform = "";
    const across = event.clientX - this.start.clientX;
    const along = Math.abs(event.clientY - this.start.clientY);
    if (event.type === "pointerup" && Math.abs(across) > SWIPE && Math.abs(across) > 2 * along) this.swipe(across < 0 ? 1 : -1);
  }
}
