// What took time, from the log's own times: a bar for each turn, model call, tool call, nested run and step.

import { count, el, took } from "./dom.js";
import { List } from "./list.js";

export class Waterfall {
  constructor(choose) {
    this.spans = [];
    this.list = new List("Waterfall", (place) => this.row(place), (place) => choose(this.spans[place]));
    this.scale = el("div.scale", { "aria-hidden": "true" });
    this.element = el("div.waterfall", this.scale, this.list.element);
  }

  // What goes on ends now in a run that is in work, and else where the log ends.
  set(spans, isInWork) {
    const inside = Map.groupBy ? Map.groupBy(spans, (one) => one.parent ?? "") : grouped(spans);
    this.spans = [];
    const walk = (parent, depth) => {
      for (const span of inside.get(parent) ?? []) {
        this.spans.push({ ...span, depth });
        walk(span.id, depth + 1);
      }
    };
    walk("", 0);
    this.first = spans.reduce((earliest, one) => Math.min(earliest, one.start), Infinity);
    const known = spans.reduce((latest, one) => Math.max(latest, one.end ?? one.start), 0);
    this.now = isInWork ? Math.max(known, Date.now() / 1000) : known;
    this.last = Math.max(this.now, this.first + 0.001);
    this.scale.replaceChildren(...[0, 0.25, 0.5, 0.75, 1].map((part) => el("small", took((this.last - this.first) * part))));
    this.list.set(this.spans.length);
  }

  show() {
    this.list.show();
  }

  row(place) {
    const span = this.spans[place];
    const all = this.last - this.first;
    const end = span.end ?? this.now;
    const bar = el("div", { class: `bar-of k-${span.kind} s-${span.status || "none"}${span.end ? "" : " goes-on"}` });
    bar.style.left = `${((span.start - this.first) / all) * 100}%`;
    bar.style.width = `max(2px, ${((end - span.start) / all) * 100}%)`;
    const name = el("span.name", el("i", { class: `k-${span.kind}` }), el("b", span.name));
    name.style.paddingLeft = `${Math.min(span.depth, 8) * 12}px`;
    const says = `${span.kind} ${span.name}, ${took(end - span.start)}${span.tokens ? `, ${count(span.tokens.input + span.tokens.output)} tokens` : ""}`;
    return el("div", { title: says, "aria-label": says }, name, el("span.track", bar), el("small.n", took(end - span.start)));
  }
}

function grouped(spans) {
  const found = new Map();
  for (const span of spans) found.set(span.parent ?? "", [...(found.get(span.parent ?? "") ?? []), span]);
  return found;
}
