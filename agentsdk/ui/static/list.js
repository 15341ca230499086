// A list of any length: only the rows in sight are in the page. Rows have one height, so a place is a product.

import { el } from "./dom.js";

export const ROW = 30;
const AROUND = 8;

export class List {
  // `draw(place)` gives the element of a row; `choose(place)` is told which one was chosen.
  constructor(label, draw, choose) {
    this.draw = draw;
    this.choose = choose;
    this.length = 0;
    this.chosen = -1;
    this.inner = el("div.rows");
    this.element = el("div.list", { role: "listbox", tabindex: "0", "aria-label": label, onscroll: () => this.later(), onkeydown: (event) => this.key(event) }, this.inner);
    this.drawn = new Map();
    new ResizeObserver(() => this.later()).observe(this.element);
  }

  later() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.show();
    });
  }

  // Draw anew what is in sight: `length` rows there are.
  set(length) {
    this.length = length;
    this.inner.style.height = `${length * ROW}px`;
    for (const row of this.drawn.values()) row.remove();
    this.drawn.clear();
    this.show();
  }

  // There are more rows than before, and those before are as they were.
  grow(length) {
    const follows = this.element.scrollTop + this.element.clientHeight >= this.length * ROW - ROW;
    this.length = length;
    this.inner.style.height = `${length * ROW}px`;
    if (follows) this.element.scrollTop = length * ROW;
    this.later();
  }

  show() {
    const top = this.element.scrollTop;
    const first = Math.max(0, Math.floor(top / ROW) - AROUND);
    const last = Math.min(this.length, Math.ceil((top + this.element.clientHeight) / ROW) + AROUND);
    for (const [place, row] of this.drawn) {
      if (place < first || place >= last) {
        row.remove();
        this.drawn.delete(place);
      }
    }
    for (let place = first; place < last; place++) {
      if (this.drawn.has(place)) continue;
      const row = this.draw(place);
      row.classList.add("row");
      row.style.top = `${place * ROW}px`;
      row.id = `${this.name ??= `list${List.made = (List.made ?? 0) + 1}`}-${place}`;
      row.setAttribute("role", "option");
      row.setAttribute("aria-posinset", place + 1);
      row.setAttribute("aria-setsize", this.length);
      row.setAttribute("aria-selected", place === this.chosen);
      row.addEventListener("click", () => this.select(place));
      this.drawn.set(place, row);
      this.inner.append(row);
    }
    const chosen = this.drawn.get(this.chosen);
    if (chosen) this.element.setAttribute("aria-activedescendant", chosen.id);
    else this.element.removeAttribute("aria-activedescendant");
  }

  select(place, tell = true) {
    if (place < 0 || place >= this.length) return;
    this.drawn.get(this.chosen)?.setAttribute("aria-selected", false);
    this.chosen = place;
    const top = place * ROW;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + ROW > scrollTop + clientHeight) this.element.scrollTop = top + ROW - clientHeight;
    this.show();
    this.drawn.get(place)?.setAttribute("aria-selected", true);
    if (tell) this.choose(place);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: page, PageUp: -page, Home: -this.length, End: this.length };
    const by = moves[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.select(Math.min(this.length - 1, Math.max(0, this.chosen + by)));
  }
}
