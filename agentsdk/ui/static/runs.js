// All runs: those that wait for somebody first, then the latest. Live.

import { follow, get } from "./api.js";
import { badge, button, count, el, find, money, put, time, took } from "./dom.js";
import { attempt } from "./main.js";

const STATUSES = ["", "running", "waiting", "ready", "finished", "failed", "cancelled"];
const chosen = { q: "", status: "", left: null };

export async function runsView() {
  const info = await get("info");
  const known = new Map();
  let after = null;
  const body = el("tbody");
  const waiting = el("section.waiting", { hidden: true, "aria-label": "Waiting for you" });
  const more = button("More", () => attempt(() => load(after)));
  const search = el("input", { type: "search", id: "search", placeholder: "Search ids, agents, metadata, errors", "aria-label": "Search runs", value: chosen.q });
  const status = el("select", { "aria-label": "Status" }, STATUSES.map((one) => el("option", { value: one, selected: one === chosen.status }, one || "any status")));
  let typing = 0;
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      chosen.q = search.value;
      attempt(() => load(null));
    }, 200);
  });
  status.addEventListener("change", () => {
    chosen.status = status.value;
    attempt(() => load(null));
  });
  const empty = el("p.empty", { hidden: true }, "No runs here.");
  const compared = el("p.compared", { hidden: true });
  const head = ["run", "status", "agent", "turns", "tokens", "cost", "took", "begun", "metadata", ""];
  const table = el("table.runs", el("thead", el("tr", head.map((name) => el("th", { scope: "col" }, name)))), body);
  put(
    find("#main"),
    el("div.bar", search, status, el("span.grow"), el("small", `${info.store} \u00b7 agentsdk ${info.version}`), info.has_evals ? el("a", { href: "#/evals" }, "evals") : null),
    info.can_act ? null : el("p.note", info.readonly_reason),
    compared,
    waiting,
    el("div.scroll", table),
    empty,
    more,
  );

  function row(run) {
    const meta = Object.entries(run.metadata).filter(([name]) => !name.startsWith("web."));
    const compare = () => {
      if (chosen.left && chosen.left !== run.run_id) location.hash = `#/diff/${encodeURIComponent(chosen.left)}/${encodeURIComponent(run.run_id)}`;
      chosen.left = chosen.left ? null : run.run_id;
      compared.hidden = !chosen.left;
      compared.textContent = chosen.left ? `Comparing ${chosen.left} with \u2026 choose another run` : "";
    };
    return el(
      "tr",
      { "data-run": run.run_id },
      el("td", el("a", { href: `#/run/${encodeURIComponent(run.run_id)}` }, run.run_id), run.forked_from ? el("small", ` fork of ${run.forked_from}`) : null),
      el("td", badge(run.status), run.waiting ? el("small", ` ${run.waiting}`) : null, run.error || run.reason ? el("div.why", run.error || run.reason) : null),
      el("td", run.agent),
      el("td.n", count(run.turns)),
      el("td.n", count(run.input_tokens + run.output_tokens)),
      el("td.n", money(run.cost)),
      el("td.n", took(run.elapsed)),
      el("td.n", time(run.started_at)),
      el("td", meta.map(([name, value]) => el("span.meta", `${name}: ${value}`))),
      el("td", button("compare", compare, { title: `Compare ${run.run_id} with another run` })),
    );
  }

  function showWaiting(runs) {
    waiting.hidden = !runs.length;
    put(
      waiting,
      el("h2", `Waiting for you (${runs.length})`),
      el("div.cards", runs.slice(0, 12).map((run) => el("a.card", { href: `#/run/${encodeURIComponent(run.run_id)}` }, el("b", run.run_id), el("span", run.agent), el("small", `${run.waiting || "paused"} \u00b7 since ${time(run.updated_at)}`)))),
    );
  }

  async function load(from) {
    const query = new URLSearchParams();
    const [, name, value] = /^([\w.-]+):(\S.*)$/.exec(chosen.q) ?? [];
    if (name) query.set("meta", `${name}:${value}`);
    else if (chosen.q) query.set("q", chosen.q);
    if (chosen.status) query.set("status", chosen.status);
    if (from) query.set("after", from);
    const page = await get(`runs?${query}`);
    if (!from) {
      put(body);
      known.clear();
      if (page.waiting) showWaiting(page.waiting);
      else waiting.hidden = true;
    }
    for (const run of page.runs) {
      known.set(run.run_id, row(run));
      body.append(known.get(run.run_id));
    }
    after = page.after;
    more.hidden = !after;
    empty.hidden = known.size > 0;
  }

  function changed(run) {
    const old = known.get(run.run_id);
    if (!old && (chosen.q || (chosen.status && chosen.status !== run.status))) return;
    known.set(run.run_id, row(run));
    if (old) old.replaceWith(known.get(run.run_id));
    else body.prepend(known.get(run.run_id));
    empty.hidden = true;
    if (run.status === "waiting" || run.waiting) attempt(async () => showWaiting((await get("runs?limit=1")).waiting ?? []));
  }

  await load(null);
  const stop = follow("runs/events", null, (type, run) => type === "summary" && changed(run), (state) => (find("#live").textContent = state));
  return {
    close: stop,
    key: (event) => {
      if (event.key !== "/") return false;
      search.focus();
      return true;
    },
  };
}
