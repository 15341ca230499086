// Two runs side by side, from a little before where they part.

import { get } from "./api.js";
import { count, el, find, money, put } from "./dom.js";

export async function diffView(left, right) {
  const found = await get(`diff?left=${encodeURIComponent(left)}&right=${encodeURIComponent(right)}`);
  put(find("#crumbs"), el("span", "compare"));
  const totals = (side) => {
    const one = found.totals[side];
    return el("p.totals", `${count(one.turns)} turns \u00b7 ${count(one.tool_calls)} tool calls \u00b7 ${count(one.tokens)} tokens${one.cost === null ? "" : ` \u00b7 ${money(one.cost)}`}`);
  };
  const column = (side, id) => {
    const parts = found.first && found.first[`${side}_rev`];
    return el(
      "section.side",
      { "aria-label": id },
      el("h2", el("a", { href: `#/run/${encodeURIComponent(id)}` }, id)),
      totals(side),
      el("ol.events", found[side].map((row) => el("li", { class: found.first && row.rev > parts ? "parted" : null }, el("a", { href: `#/run/${encodeURIComponent(id)}/${row.rev}` }, el("small", row.rev), el(`i.k-${row.kind}`), el("b", row.title), el("span", row.summary ?? ""))))),
    );
  };
  put(
    find("#main"),
    el("p.note", { role: "status" }, found.first ? `They part after revision ${found.first.left_rev}: ${found.lines.left} \u2014 and now: ${found.lines.right}` : "They did the same."),
    el("p.totals", found.cost === null ? "What the second cost more is not known." : `The second cost ${Number(found.cost) < 0 ? "" : "+"}${found.cost} dollars more.`),
    el("div.sides", column("left", left), column("right", right)),
  );
  return {};
}
