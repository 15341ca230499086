// The page: which view the address names, the keys, and what goes wrong.

import { takeToken } from "./api.js";
import { button, el, find, put } from "./dom.js";
import { diffView } from "./diff.js";
import { evalView, evalsView } from "./evals.js";
import { runView } from "./run.js";
import { runsView } from "./runs.js";

const VIEWS = [
  [/^#\/run\/([^/]+)(?:\/(\d+))?$/, (id, at) => runView(decodeURIComponent(id), at ? Number(at) : null)],
  [/^#\/diff\/([^/]+)\/([^/]+)$/, (left, right) => diffView(decodeURIComponent(left), decodeURIComponent(right))],
  [/^#\/evals\/([^/]+)$/, (name) => evalView(decodeURIComponent(name))],
  [/^#\/evals$/, evalsView],
  [/^/, runsView],
];

let view = null;
let shown = "";

export function problem(error) {
  const place = find("#problem");
  place.hidden = !error;
  put(place, ...(error ? [el("span", error.message ?? String(error)), button("\u00d7", () => problem(null), { title: "Dismiss" })] : []));
}

export const attempt = async (act) => {
  try {
    problem(null);
    return await act();
  } catch (error) {
    problem(error);
    return undefined;
  }
};

async function route() {
  const hash = location.hash || "#/";
  const base = hash.replace(/^(#\/run\/[^/]+)\/\d+$/, "$1");
  if (base === shown && view?.moved) {
    view.moved(hash);
    return;
  }
  view?.close?.();
  shown = base;
  view = null;
  put(find("#main"));
  put(find("#crumbs"));
  find("#live").textContent = "";
  for (const [pattern, open] of VIEWS) {
    const found = pattern.exec(hash);
    if (!found) continue;
    const opened = await attempt(() => open(...found.slice(1)));
    if (shown !== base) {
      opened?.close?.();
      return;
    }
    view = opened ?? null;
    return;
  }
}

const KEYS = [
  ["\u2191 \u2193  j k", "the event before, the next"],
  ["Home End PgUp PgDn", "further"],
  ["1 2 3 4", "events, waterfall, conversation, workflow"],
  ["e r s", "the event, its request, the state at it"],
  ["a x", "approve, reject the first call that waits"],
  ["f", "fork the run at the event"],
  ["/", "search the runs"],
  ["g", "all runs"],
  ["?", "this help"],
];

export function ask(title, ...content) {
  const dialog = find("#dialog");
  put(dialog, el("h2", title), ...content);
  dialog.showModal();
  return dialog;
}

function help() {
  const close = button("Close", () => find("#dialog").close(), { primary: true });
  ask("Keys", el("dl.keys", KEYS.map(([keys, does]) => [el("dt", keys.split("  ").map((key) => el("kbd", key))), el("dd", does)])), close);
}

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || find("#dialog").open) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "?") help();
  else if (event.key === "g") location.hash = "#/";
  else if (!view?.key?.(event)) return;
  event.preventDefault();
});

addEventListener("hashchange", () => {
  takeToken();
  route();
});
find("#help").addEventListener("click", help);
takeToken();
route();
