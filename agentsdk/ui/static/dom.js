// Elements. Whatever a model, a tool or a person wrote is put in as text, never as HTML.

export const find = (selector, inside = document) => inside.querySelector(selector);

// el("button.primary", { onclick, title }, "text", child, ...)
export function el(name, ...rest) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag || "div");
  if (classes.length) made.className = classes.join(" ");
  for (const one of rest.flat(Infinity)) {
    if (one === null || one === undefined || one === false) continue;
    if (typeof one === "object" && !(one instanceof Node)) give(made, one);
    else made.append(one instanceof Node ? one : visible(String(one)));
  }
  return made;
}

function give(made, given) {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(name, given = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(given)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// Characters that would hide or reorder text are shown by their names.
export const visible = (text) =>
  text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]/gu, (char) => {
    const code = char.codePointAt(0);
    return `\u27e8${code === 27 ? "ESC" : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`}\u27e9`;
  });

export const put = (place, ...children) => place.replaceChildren(...children.flat(Infinity).filter((one) => one instanceof Node));

const two = (number) => String(number).padStart(2, "0");

export function time(at) {
  if (!at) return "";
  const date = new Date(at * 1000);
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return date.toDateString() === new Date().toDateString() ? clock : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock}`;
}

export function took(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "";
  if (seconds < 1) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(Math.floor(seconds % 60))} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} min`;
}

export const count = (number) => (number ?? 0).toLocaleString("en-US");
export const money = (cost) => (cost === null || cost === undefined ? "" : `$${Number(cost).toFixed(Number(cost) < 0.01 ? 5 : 2)}`);
export const badge = (status) => el(`span.badge.s-${status}`, status);

export const button = (label, onclick, more = {}) => el(more.primary ? "button.primary" : "button", { type: "button", onclick, title: more.title, disabled: more.disabled ?? false }, label);

// JSON as a tree that opens; long texts are shown whole.
export function tree(value, open = 2) {
  if (value === null || typeof value !== "object") return el(`span.v-${value === null ? "null" : typeof value}`, typeof value === "string" ? value : JSON.stringify(value));
  const entries = Array.isArray(value) ? value.map((one, place) => [place, one]) : Object.entries(value);
  if (!entries.length) return el("span.v-null", Array.isArray(value) ? "[ ]" : "{ }");
  const list = el("ul.tree");
  for (const [name, one] of entries) {
    if (one !== null && typeof one === "object" && Object.keys(one).length) {
      const inner = el("details", { open: open > 0 }, el("summary", el("b", name), el("small", Array.isArray(one) ? ` ${one.length}` : "")));
      const fill = () => inner.children.length === 1 && inner.append(tree(one, open - 1));
      if (open > 0) fill();
      inner.addEventListener("toggle", fill);
      list.append(el("li", inner));
    } else list.append(el("li", el("b", name), " ", tree(one)));
  }
  return list;
}
