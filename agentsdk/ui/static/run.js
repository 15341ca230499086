// One run: its events, waterfall and conversation on the left; on the right the one that is open, and the state at it. Live.

import { actions, decideFirst, waitingCalls } from "./actions.js";
import { follow, get, of, text } from "./api.js";
import { windowChart } from "./chart.js";
import { conversation } from "./conversation.js";
import { detail } from "./detail.js";
import { badge, button, count, el, find, money, put, time, took } from "./dom.js";
import { List } from "./list.js";
import { ask, attempt } from "./main.js";
import { Waterfall } from "./waterfall.js";

const TABS = ["events", "waterfall", "conversation", "workflow"];

export async function runView(id, at) {
  const [info, first, rows] = await Promise.all([get("info"), get(of(id)), get(`${of(id)}/rows`)]);
  const run = new RunView(id, info, first, rows);
  await run.open(at);
  return run;
}

function saved(name, text, type) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

class RunView {
  constructor(id, info, body, rows) {
    Object.assign(this, { id, info, body, rows: rows.rows, total: rows.total, tab: "events", revision: 0, text: "" });
    this.head = el("section.head", { "aria-label": "The run" });
    this.calls = el("section.calls", { "aria-label": "Calls that wait", hidden: true });
    this.delta = el("pre.delta", { hidden: true, "aria-label": "What the model writes" });
    this.left = el("div.pane");
    this.right = el("section.pane.detail", { "aria-label": "The event" });
    this.chart = el("figure.chart", { hidden: true });
    this.list = new List("Events", (place) => this.row(place), (place) => this.choose(this.rows[place].rev));
    this.tabs = el("div.tabs", { role: "tablist" }, TABS.map((name, place) => el("button", { type: "button", role: "tab", id: `tab-${name}`, title: `${place + 1}`, onclick: () => this.turn(name) }, name)));
    this.waterfall = new Waterfall((span) => this.choose(span.first));
  }

  async open(at) {
    put(find("#crumbs"), el("span", this.id));
    put(find("#main"), el("div.run", this.head, this.calls, this.delta, this.chart, el("div.panes", el("div.left", this.tabs, this.left), this.right)));
    this.shown();
    this.turn(this.tab);
    while (this.rows.length < this.total) await this.more();
    this.list.set(this.rows.length);
    if (at) this.choose(at, true);
    else put(this.right, el("p.empty", "Choose an event."));
    this.stop = follow(`${of(this.id)}/events`, this.rows.length, (type, data) => this.happened(type, data), (state) => (find("#live").textContent = state));
    attempt(() => this.measured());
  }

  async more() {
    const page = await get(`${of(this.id)}/rows?after=${this.rows.length}`);
    this.rows.push(...page.rows);
    this.total = page.total;
    if (!page.rows.length) this.total = this.rows.length;
  }

  // Times and tokens, which the waterfall and the chart are drawn from.
  async measured() {
    this.spans = await get(`${of(this.id)}/spans`);
    this.waterfall.set(this.spans.spans, this.body.run.status === "running");
    const chart = windowChart(this.spans, (rev) => this.choose(rev));
    if (chart) put(this.chart, chart);
    this.charted();
  }

  // The chart has its place before it is drawn: what is below must not move under a hand.
  charted() {
    this.chart.hidden = this.rows.reduce((sum, row) => sum + (row.kind === "model"), 0) < 2;
  }

  shown() {
    this.charted();
    const { run, calls } = this.body;
    const facts = [
      [run.agent, run.first_agent === run.agent ? "agent" : `began with ${run.first_agent}`],
      [count(run.turns), "turns"],
      [count(run.input_tokens + run.output_tokens), `tokens (${count(run.input_tokens)} in, ${count(run.output_tokens)} out)`],
      [money(run.cost) || "\u2013", run.cost ? "cost" : "cost not known"],
      [took(run.elapsed), "at work"],
      [time(run.started_at), "begun"],
    ];
    put(
      this.head,
      el("div.title", el("h1", this.id), badge(run.status), run.phase ? el("small", run.phase) : null, run.held ? el("small", "in work") : null),
      run.error || run.reason ? el("p.why", run.error || run.reason) : null,
      el("dl.facts", facts.map(([value, name]) => el("div", el("dd", value), el("dt", name)))),
      el("div.metas", Object.entries(run.metadata).map(([name, value]) => el("span.meta", `${name}: ${value}`))),
      this.body.output === null ? null : el("details.output", el("summary", "Output"), el("pre", this.body.output)),
      el(
        "div.bar",
        actions(this),
        el("span.grow"),
        button("export", () => attempt(() => this.download()), { title: "One HTML file that works offline" }),
        button("copy as test", () => attempt(() => this.asTest())),
      ),
    );
    this.calls.hidden = !calls.length;
    put(this.calls, ...waitingCalls(this));
  }

  async download() {
    const page = await text(`${of(this.id)}/export`);
    saved(`${this.id.replace(/[^\w.-]/g, "_")}.html`, page, "text/html");
  }

  async asTest() {
    const { python, record, file } = await get(`${of(this.id)}/test`);
    const copy = button("Copy", async () => {
      await navigator.clipboard.writeText(python);
      copy.textContent = "Copied";
    }, { primary: true });
    const save = button(`Save ${file}`, () => saved(file, record, "application/json"));
    ask("A test of this run", el("pre.code", python), el("p.note", `It stands beside ${file}, the record of the run.`), el("div.bar", copy, save, button("Close", () => find("#dialog").close())));
  }

  row(place) {
    const row = this.rows[place];
    const more = row.tokens ? `${count(row.tokens.input + row.tokens.output)}` : "";
    return el(
      "div",
      { class: row.path ? "nested" : null },
      el("small.rev", row.rev),
      el(`i.k-${row.kind}.s-${row.status || "none"}`, { title: row.kind }),
      row.path ? el("span.depth", "\u203a".repeat(row.path.length)) : null,
      el("b", row.title),
      el("span.summary", row.summary ?? ""),
      el("small.n", more),
      el("small.n", row.at ? `+${took(row.at - (this.rows[0].at ?? row.at))}` : ""),
    );
  }

  turn(name) {
    if (name === "workflow" && !this.body.is_workflow) name = this.tab === "workflow" ? "events" : this.tab;
    this.tab = name;
    find("#tab-workflow", this.tabs).hidden = !this.body.is_workflow;
    for (const tab of this.tabs.children) tab.setAttribute("aria-selected", tab.id === `tab-${name}`);
    if (name === "events") {
      put(this.left, this.list.element);
      this.list.show();
    } else if (name === "waterfall") {
      put(this.left, this.waterfall.element);
      this.waterfall.show();
    } else if (name === "conversation") attempt(async () => put(this.left, conversation((await get(`${of(this.id)}/conversation${this.revision ? `?at=${this.revision}` : ""}`)).items)));
    else attempt(async () => put(this.left, el("img.drawing", { alt: "The workflow with what happened", src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent((await get(`${of(this.id)}/workflow`)).svg)}` })));
  }

  choose(revision, tell = true) {
    if (!revision || revision > this.rows.length) return;
    this.revision = revision;
    if (this.list.chosen !== revision - 1) this.list.select(revision - 1, false);
    if (tell) history.replaceState(null, "", `#/run/${encodeURIComponent(this.id)}/${revision}`);
    attempt(async () => {
      const made = await detail(this, revision);
      if (this.revision === revision) put(this.right, made);
    });
    if (this.tab === "conversation") this.turn("conversation");
  }

  moved(hash) {
    const at = /\/(\d+)$/.exec(hash);
    if (at) this.choose(Number(at[1]), false);
  }

  happened(type, data) {
    if (type === "row") {
      this.rows[data.rev - 1] = data;
      this.total = this.rows.length;
      this.list.grow(this.rows.length);
      if (data.type === "ModelReplied") this.written("");
      this.later();
    } else if (type === "delta") {
      if (data.type === "text" || data.type === "reasoning") this.written(this.text + data.text);
      else if (data.type === "discarded") this.written("");
      else if (data.type === "progress") this.written(`${data.tool}: ${JSON.stringify(data.data)}`);
    } else if (type === "summary") {
      this.body.run = data;
      this.later();
    }
  }

  written(words) {
    this.text = words.slice(-4000);
    this.delta.hidden = !words;
    put(this.delta, document.createTextNode(this.text));
  }

  // What has changed is asked for once for many events.
  later() {
    if (this.waits) return;
    this.waits = setTimeout(() => {
      this.waits = 0;
      attempt(async () => {
        this.body = await get(of(this.id));
        this.shown();
        await this.measured();
      });
    }, 120);
  }

  key(event) {
    const tab = TABS[Number(event.key) - 1];
    if (tab) this.turn(tab);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp" || event.key === "j" || event.key === "k") {
      if (this.tab === "waterfall") this.waterfall.list.key(event);
      else this.list.key(event);
    } else if ("ers".includes(event.key)) find(`[data-part="${{ e: "event", r: "request", s: "state" }[event.key]}"]`, this.right)?.click();
    else if (event.key === "a" || event.key === "x") decideFirst(this, event.key === "a" ? "approve" : "reject");
    else if (event.key === "f") find('[data-act="fork"]', this.head)?.click();
    else return false;
    return true;
  }

  close() {
    clearTimeout(this.waits);
    this.stop?.();
  }
}

