// What a person may do to a run: decide, answer, send, pause, cancel, resume, fork, replay.

import { of, post } from "./api.js";
import { button, el, find, time, tree } from "./dom.js";
import { ask, attempt } from "./main.js";

const act = (view, name, body) => attempt(async () => {
  const done = await post(`${of(view.id)}/${name}`, body);
  view.later();
  return done;
});

const named = (made, name) => {
  made.dataset.act = name;
  return made;
};

export function actions(view) {
  if (!view.info.can_act) return [el("small.note", view.info.readonly_reason)];
  const { run, paused } = view.body;
  const over = run.status === "finished" || run.status === "cancelled";
  const go = (id) => id && (location.hash = `#/run/${encodeURIComponent(id)}`);
  const fork = async () => {
    const at = view.revision || null;
    const done = await act(view, "fork", at ? { at } : {});
    if (done) go(done.run_id);
  };
  return [
    over ? null : named(button("send", () => asked("Send a message", "message", (message) => act(view, "send", { message }))), "send"),
    over || paused ? null : named(button("pause", () => act(view, "pause")), "pause"),
    paused ? named(button("go on", () => act(view, "unpause")), "unpause") : null,
    over ? null : named(button("cancel", () => asked("Cancel the run", "reason", (reason) => act(view, "cancel", { reason }), true)), "cancel"),
    run.status === "failed" || run.status === "cancelled" || (run.forked_from && run.status === "ready") ? named(button("resume", () => act(view, "resume")), "resume") : null,
    named(button(view.revision ? `fork at ${view.revision}` : "fork", fork, { title: "A run of its own that goes on from there" }), "fork"),
    view.body.is_workflow ? null : named(button("replay\u2026", () => replay(view, go)), "replay"),
  ];
}

function asked(title, name, done, optional = false) {
  const field = el("textarea", { rows: "3", id: "asked", "aria-label": name });
  const give = () => {
    if (!optional && !field.value.trim()) return field.focus();
    find("#dialog").close();
    return done(field.value);
  };
  ask(title, el("label", { for: "asked" }, name), field, el("div.bar", button(title, give, { primary: true }), button("Never mind", () => find("#dialog").close())));
  field.focus();
}

function replay(view, go) {
  const instructions = el("textarea", { rows: "6", id: "instructions", placeholder: "as they are" });
  const model = el("input", { id: "model", placeholder: "as it is" });
  const effects = el("input", { type: "checkbox", id: "effects" });
  const from = view.revision || 0;
  const give = async () => {
    find("#dialog").close();
    const done = await act(view, "replay", {
      instructions: instructions.value || null,
      model: model.value || null,
      at: from && (instructions.value || model.value) ? from : null,
      live_effects: effects.checked,
    });
    if (!done) return;
    const open = done.run_id ? [button("Compare", () => {
      find("#dialog").close();
      location.hash = `#/diff/${encodeURIComponent(view.id)}/${encodeURIComponent(done.run_id)}`;
    }, { primary: true }), button("Open it", () => {
      find("#dialog").close();
      go(done.run_id);
    })] : [];
    ask("Replayed", el("pre", done.summary), el("div.bar", open, button("Close", () => find("#dialog").close())));
  };
  ask(
    from ? `Replay from event ${from}` : "Replay",
    el("label", { for: "instructions" }, `Instructions of ${view.body.run.first_agent}`),
    instructions,
    el("label", { for: "model" }, "Model of all agents"),
    model,
    el("label", effects, " run calls that the record knows nothing of, whatever they do"),
    el("p.note", "With nothing changed nobody is called: it says whether every turn still comes to what is recorded."),
    el("div.bar", button("Replay", give, { primary: true }), button("Never mind", () => find("#dialog").close())),
  );
}

const ACTIONS = { outcome: [["it was done\u2026", "provide_result"], ["run it again", "retry"], ["it failed\u2026", "mark_failed"]] };

export function waitingCalls(view) {
  return view.body.calls.map((call) => card(view, call));
}

function card(view, call) {
  const decide = (action, more = {}) => act(view, "decide", { call_id: call.call_id, path: call.path, action, ...more });
  const can = view.info.can_act;
  const given = el("div.args", tree(parsed(call.arguments), 2));
  const buttons = [];
  if (can && call.waits_for === "approval") {
    buttons.push(
      button("Approve", () => decide("approve"), { primary: true, title: "a" }),
      button("Reject\u2026", () => asked("Reject the call", "reason", (reason) => decide("reject", { reason }), true), { title: "x" }),
      button("Edit\u2026", () => edited(call, (args) => decide("approve", { arguments: args }))),
    );
  } else if (can && call.waits_for === "answer") {
    if (call.choices?.length) buttons.push(...call.choices.map((choice) => button(choice, () => act(view, "answer", { call_id: call.call_id, path: call.path, answer: choice }))));
    else buttons.push(button("Answer\u2026", () => asked("Answer", call.question || "answer", (answer) => act(view, "answer", { call_id: call.call_id, path: call.path, answer: call.schema && call.schema.type !== "string" ? parsed(answer) : answer })), { primary: true }));
  } else if (can && call.waits_for === "outcome") {
    for (const [label, action] of ACTIONS.outcome) {
      buttons.push(button(label, action === "retry" ? () => decide("retry") : () => asked(label, action === "provide_result" ? "result" : "reason", (value) => decide(action, action === "provide_result" ? { result: value } : { reason: value }))));
    }
  }
  const waits = { approval: "waits for approval", answer: "waits for an answer", outcome: "is in doubt: it began, and what came of it is not known", time: `goes on at ${time(call.deadline)}` }[call.waits_for];
  return el("article.card", { "data-call": call.call_id }, el("h3", call.tool, " ", el("small", `${waits}${call.agent ? ` \u00b7 ${call.agent}` : ""}`)), call.reason ? el("p", call.reason) : null, call.question ? el("p.question", call.question) : null, call.refused ? el("p.why", call.refused) : null, given, el("div.bar", buttons));
}

function edited(call, done) {
  const field = el("textarea.code", { rows: "10", id: "edited", "aria-label": "Arguments, as JSON" });
  field.value = JSON.stringify(parsed(call.arguments), null, 2);
  const give = () => attempt(async () => {
    const value = JSON.parse(field.value);
    find("#dialog").close();
    await done(value);
  });
  ask(`Arguments of ${call.tool}`, field, el("div.bar", button("Approve with these", give, { primary: true }), button("Never mind", () => find("#dialog").close())));
}

export function decideFirst(view, action) {
  const call = view.body.calls.find((one) => one.waits_for === "approval");
  if (call && view.info.can_act) act(view, "decide", { call_id: call.call_id, path: call.path, action });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
