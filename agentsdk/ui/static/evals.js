// Reports of evals: cases by agents, and what changed from one to the other.

import { get } from "./api.js";
import { el, find, money, put, took } from "./dom.js";

export async function evalsView() {
  const { reports } = await get("evals");
  put(
    find("#main"),
    el("h1", "Evals"),
    reports.length ? el("ul.reports", reports.map((one) => el("li", el("a", { href: `#/evals/${encodeURIComponent(one.name)}` }, one.name), el("small", ` ${one.cases} cases, ${one.agents.join(", ")}`)))) : el("p.empty", "No reports were given to the page."),
  );
  return {};
}

export async function evalView(name) {
  const report = await get(`evals/${encodeURIComponent(name)}`);
  put(find("#crumbs"), el("a", { href: "#/evals" }, "evals"), el("span", name));
  const only = el("input", { type: "checkbox", id: "only" });
  const body = el("tbody");
  const show = () =>
    put(
      body,
      report.cases
        .filter((one) => !only.checked || one.changed)
        .map((one) =>
          el(
            "tr",
            { class: one.changed ? `changed-${one.changed}` : null },
            el("th", { scope: "row" }, one.name),
            one.results.map((result) => el("td", el(`span.badge.s-${result.passed ? "finished" : "failed"}`, result.passed ? "pass" : result.error ? "error" : "fail"), el("small", ` ${took(result.seconds)} ${money(result.cost)}`), el("div.why", result.output))),
            el("td", one.changed ?? ""),
          ),
        ),
    );
  only.addEventListener("change", show);
  put(
    find("#main"),
    el("h1", name),
    el("p.note", report.summary),
    el("p", el("label", only, " only what changed")),
    el("div.scroll", el("table.runs", el("thead", el("tr", ["case", ...report.agents, "changed"].map((one) => el("th", { scope: "col" }, one)))), body)),
  );
  show();
  return {};
}
