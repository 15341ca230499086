// The page. Whatever a model, a tool or a person wrote is put in as text, never as HTML.

import { answer, begin, decide, follow, getRun, listRuns, signIn } from "./api.js";

const find = (selector) => document.querySelector(selector);
let source = null;
let shown = "";

function element(name, text, ...children) {
  const made = document.createElement(name);
  made.textContent = text;
  made.append(...children);
  return made;
}

function button(text, act) {
  const made = element("button", text);
  made.type = "button";
  made.addEventListener("click", () => attempt(act));
  return made;
}

async function attempt(act) {
  try {
    await act();
    find("#problem").textContent = "";
  } catch (error) {
    find("#problem").textContent = error.message;
  }
}

async function showRuns() {
  const { runs } = await listRuns();
  find("#runs").replaceChildren(
    ...runs.map((run) => element("li", `${run.status}: `, button(run.run_id, () => open(run.run_id)))),
  );
  find("#sign-in").hidden = true;
  find("main").hidden = false;
}

function callOf(id, call) {
  const said = element("li", call.question || `May ${call.tool} run?`, element("pre", call.arguments));
  const { call_id, path } = call;
  const send = (decision) => () => decide(id, { call_id, path, ...decision });
  if (call.waits_for === "approval") {
    said.append(button("Approve", send({ action: "approve" })), button("Reject", send({ action: "reject" })));
  } else if (call.waits_for === "time") {
    said.replaceChildren(`Goes on at ${new Date(call.deadline * 1000).toLocaleString()}`);
  } else if (call.waits_for === "outcome") {
    said.append(button("Run it again", send({ action: "retry" })), button("It failed", send({ action: "mark_failed" })));
  } else if (call.choices.length) {
    said.append(...call.choices.map((choice) => button(choice, () => answer(id, { call_id, path, answer: choice }))));
  } else {
    const input = document.createElement("input");
    said.append(input, button("Answer", () => answer(id, { call_id, path, answer: input.value })));
  }
  return said;
}

function said(event) {
  switch (event.type) {
    case "ModelReplied":
      return event.items.map((item) => item.text ?? `calls ${item.tool}(${item.arguments})`).join("\n");
    case "ToolFinished":
      return event.output;
    case "ApprovalDecided":
      return `${event.by} ${event.approved ? "approved" : "rejected"} ${event.tool}`;
    default:
      return "";
  }
}

async function showRun(id) {
  const run = await getRun(id);
  if (id !== shown) return;
  find("#calls").replaceChildren(...run.calls.map((call) => callOf(id, call)));
  find("output").textContent = typeof run.output === "object" && run.output !== null ? JSON.stringify(run.output) : (run.output ?? "");
  await showRuns();
}

async function open(id) {
  shown = id;
  source?.close();
  find("#run").hidden = false;
  find("h2").textContent = id;
  find("#events").replaceChildren();
  find("#text").textContent = "";
  let waiting = null;
  source = follow(
    id,
    (event) => {
      find("#events").append(element("li", event.type, element("pre", said(event))));
      if (event.type === "ModelReplied") find("#text").textContent = "";
      clearTimeout(waiting); // events of one moment come together: look once
      waiting = setTimeout(() => attempt(() => showRun(id)), 50);
    },
    (delta) => {
      if (delta.type === "discarded") find("#text").textContent = "";
      if (delta.type === "text") find("#text").append(delta.text);
    },
  );
  await showRun(id);
}

function onSubmit(selector, act) {
  const form = find(selector);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(() => act(new FormData(form), form));
  });
}

onSubmit("#sign-in", async (data) => {
  await signIn(data.get("token"));
  await showRuns();
});

let key = crypto.randomUUID();
onSubmit("#begin", async (data, form) => {
  const { run_id } = await begin(data.get("input"), key);
  key = crypto.randomUUID();
  form.reset();
  await open(run_id);
});

showRuns().catch(() => {}); // nobody is signed in yet
