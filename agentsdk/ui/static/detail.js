// One event: itself in full, what the model was asked, and the state at it with what it changed.

import { get, of } from "./api.js";
import { conversation } from "./conversation.js";
import { count, el, money, put, time, tree } from "./dom.js";
import { attempt } from "./main.js";

let part = "event";

export async function detail(view, revision) {
  const path = `${of(view.id)}/events/${revision}`;
  let found = await get(path);
  const { row } = found;
  const body = el("div.body");
  const parts = { event: () => whole(), request: found.request && (() => request(found.request)), state: () => state(view, revision) };
  const tabs = el("div.tabs", { role: "tablist" });
  const turn = async (name) => {
    part = name;
    const chosen = parts[name] ? name : "event";
    for (const tab of tabs.children) tab.setAttribute("aria-selected", tab.dataset.part === chosen);
    await attempt(async () => put(body, await parts[chosen]()));
  };
  for (const name of Object.keys(parts)) tabs.append(el("button", { type: "button", role: "tab", "data-part": name, disabled: !parts[name], onclick: () => turn(name) }, name));

  function whole() {
    const facts = [row.agent && `agent ${row.agent}`, row.turn && `turn ${row.turn}`, row.at && time(row.at), row.tokens && `${count(row.tokens.input)} in, ${count(row.tokens.output)} out${row.tokens.cached ? `, ${count(row.tokens.cached)} cached` : ""}`, row.cost && money(row.cost)];
    const { type, ...fields } = found.event;
    const all = found.cut
      ? el("button", { type: "button", onclick: () => attempt(async () => {
          found = await get(`${path}?full=1`);
          put(body, whole());
        }) }, "show all of it")
      : null;
    const reply = found.event.response?.output;
    return el("div", el("p.facts-line", facts.filter(Boolean).join(" \u00b7 ")), all, reply ? conversation(reply) : null, reply ? el("details", el("summary", "as recorded"), tree(fields, 1)) : tree(fields, 3));
  }

  await turn(part);
  return el("div.event", el("h2", el("small", `${revision} `), row.title), el("small.type", row.type), tabs, body);
}

function request(asked) {
  const more = [
    ["instructions", asked.instructions],
    ["toolsets", asked.toolsets && Object.keys(asked.toolsets).length ? asked.toolsets : null],
    ["tools", asked.tools],
    ["settings", asked.settings],
    ["not offered", asked.disabled?.length ? asked.disabled : null],
  ];
  return el(
    "div",
    el("p.facts-line", `${asked.model}${asked.tokens ? ` \u00b7 ${count(asked.tokens)} tokens counted` : ""} \u00b7 ${asked.items.length} items`),
    more.filter(([, value]) => value).map(([name, value]) => el("details", { open: name === "instructions" }, el("summary", name), typeof value === "string" ? el("pre", value) : tree(value, 1))),
    conversation(asked.items),
  );
}

async function state(view, revision) {
  const found = await get(`${of(view.id)}/state?at=${revision}`);
  const line = ({ path, before, after }) =>
    el("li", el("code", path), before === null ? null : el("del", tree(before, 0)), after === null ? null : el("ins", tree(after, 1)));
  return el(
    "div",
    el("h3", `What it changed (${found.changed.length})`),
    found.changed.length ? el("ul.changes", found.changed.map(line)) : el("p.empty", "Nothing."),
    el("h3", "The state after it"),
    tree(found.state, 1),
  );
}

