// How the model's window filled, request by request, and where limits came near.

import { count, el, svg } from "./dom.js";

const WIDTH = 600;
const HEIGHT = 56;

export function windowChart({ window: filled, budget }, choose) {
  if (filled.length < 2) return null;
  const most = Math.max(...filled.map((one) => Math.max(one.tokens, one.before ?? 0)), 1);
  const x = (place) => (filled.length === 1 ? 0 : (place / (filled.length - 1)) * WIDTH);
  const y = (tokens) => HEIGHT - 2 - (tokens / most) * (HEIGHT - 6);
  const points = filled.map((one, place) => `${x(place).toFixed(1)},${y(one.tokens).toFixed(1)}`);
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `Tokens of each request, at most ${count(most)}` });
  drawing.append(svg("polygon", { points: `0,${HEIGHT} ${points.join(" ")} ${WIDTH},${HEIGHT}`, class: "area" }), svg("polyline", { points: points.join(" "), class: "line" }));
  if (filled.length <= 400) {
    for (const [place, one] of filled.entries()) {
      const dot = svg("circle", { cx: x(place).toFixed(1), cy: y(one.tokens).toFixed(1), r: 2.5, class: one.before ? "dot cut" : "dot", onclick: () => choose(one.rev) });
      dot.append(title(`${count(one.tokens)} tokens${one.before ? `, ${count(one.before)} before` : ""}`));
      drawing.append(dot);
    }
  }
  for (const one of budget) {
    const place = filled.findIndex((each) => each.rev >= one.rev);
    const line = svg("line", { x1: x(Math.max(place, 0)), x2: x(Math.max(place, 0)), y1: 0, y2: HEIGHT, class: "limit", onclick: () => choose(one.rev) });
    line.append(title(`limit on ${one.limit}: ${one.used} of ${one.allowed}`));
    drawing.append(line);
  }
  return el("div", el("small", `Tokens of a request: ${count(filled.at(-1).tokens)} now, ${count(most)} at most`), budget.length ? el("small.limits", ` \u00b7 ${budget.map((one) => `${one.limit}: ${one.used} of ${one.allowed}`).slice(-3).join(", ")}`) : null, drawing);
}

function title(words) {
  const made = svg("title");
  made.textContent = words;
  return made;
}
