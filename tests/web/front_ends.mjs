// The official clients, driven by a test: `node front_ends.mjs <node_modules>`. A line of JSON on stdin is a request, and each is
// answered by a line on stdout: {id, ...}. Clients are kept by name, so a conversation goes on as it does in a browser.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { join } from "node:path";

const require = createRequire(join(process.argv[2], "here.js"));
const agents = new Map();
const text = (error) => String(error?.message ?? error);

async function agUi({ name, url, headers, threadId, say, messages, toolResult, resume, tools, state, runId, leaveAt }) {
  const { HttpAgent } = require("@ag-ui/client");
  if (!agents.has(name)) agents.set(name, new HttpAgent({ url, headers, threadId }));
  const agent = agents.get(name);
  if (messages !== undefined) agent.messages = messages;
  if (state !== undefined) agent.state = state;
  if (say !== undefined) agent.addMessage({ id: crypto.randomUUID(), role: "user", content: say });
  if (toolResult !== undefined) agent.addMessage({ id: crypto.randomUUID(), role: "tool", ...toolResult });
  const events = [];
  let error = null;
  const onEvent = ({ event }) => {
    events.push(event);
    if (leaveAt !== undefined && events.length >= leaveAt) agent.abortRun();
  };
  const onRunFailed = ({ error: raised }) => void (error = text(raised));
  try {
    await agent.runAgent({ runId, tools, resume }, { onEvent, onRunFailed });
  } catch (raised) {
    error = text(raised);
  }
  return { events, error, messages: agent.messages, state: agent.state, interrupts: agent.pendingInterrupts };
}

const operations = { agUi };
for await (const line of createInterface({ input: process.stdin })) {
  const { id, operation, ...given } = JSON.parse(line);
  operations[operation](given).then(
    (answer) => console.log(JSON.stringify({ id, ...answer })),
    (error) => console.log(JSON.stringify({ id, crash: error?.stack ?? text(error) })),
  );
}
