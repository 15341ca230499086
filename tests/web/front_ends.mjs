// The official clients, driven by a test: `node front_ends.mjs <node_modules>`. A line of JSON on stdin is a request, and each is
// answered by a line on stdout: {id, ...}. Clients are kept by name, so a conversation goes on as it does in a browser.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { join } from "node:path";

const require = createRequire(join(process.argv[2], "here.js"));
const agents = new Map();
const chats = new Map();
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

function chatOf({ name, url, headers, chatId, messages }) {
  if (chats.has(name)) return chats.get(name);
  const { AbstractChat, DefaultChatTransport } = require("ai");
  const state = {
    status: "ready",
    error: undefined,
    messages: messages ?? [],
    pushMessage: (message) => void (state.messages = [...state.messages, message]),
    popMessage: () => void (state.messages = state.messages.slice(0, -1)),
    replaceMessage: (index, message) => void (state.messages = state.messages.with(index, message)),
    snapshot: (value) => structuredClone(value),
  };
  const kept = { chunks: [], status: 0, left: null };
  const fetched = async (address, options) => {
    const answer = await fetch(address, options);
    kept.status = answer.status;
    kept.open();
    if (!answer.ok || answer.status === 204) return answer;
    const [one, other] = answer.body.tee();
    kept.left = (async () => {
      let data = "";
      try {
        for await (const piece of one.pipeThrough(new TextDecoderStream())) data += piece;
      } catch {} // the client has left
      kept.chunks = data.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
    })();
    return new Response(other, { status: answer.status, headers: answer.headers });
  };
  class Chat extends AbstractChat {}
  const transport = new DefaultChatTransport({ api: url, headers, fetch: fetched });
  const chat = new Chat({ id: chatId, transport, state, generateId: () => crypto.randomUUID() });
  chats.set(name, { chat, kept });
  return chats.get(name);
}

async function vercel({ say, files, messageId, approvals, outputs, regenerate, resume, ...given }) {
  const { lastAssistantMessageIsCompleteWithApprovalResponses: isComplete } = require("ai");
  const { chat, kept } = chatOf(given);
  Object.assign(kept, { chunks: [], status: 0, left: null });
  kept.opened = new Promise((resolve) => void (kept.open = resolve));
  for (const approval of approvals ?? []) await chat.addToolApprovalResponse(approval);
  for (const output of outputs ?? []) await chat.addToolOutput(output);
  const complete = isComplete({ messages: chat.messages });
  if (say !== undefined) await chat.sendMessage({ text: say, files, messageId });
  else if (regenerate) await chat.regenerate();
  else if (resume) await chat.resumeStream();
  else await chat.sendMessage();
  await kept.left;
  const { messages, status, error } = chat;
  return { messages, status, error: error === undefined ? null : text(error), complete, http: kept.status, chunks: kept.chunks };
}

// What a run's answers, as text, come to in each client, without a server.
async function read({ agUi: answers, vercel: streams }) {
  const { HttpAgent } = require("@ag-ui/client");
  const { DefaultChatTransport, readUIMessageStream } = require("ai");
  const bodyOf = (data) => new Response(data, { headers: { "content-type": "text/event-stream" } });
  const errors = [];
  const agent = new HttpAgent({ url: "http://fed", threadId: "a thread", fetch: async () => bodyOf(answers.shift()) });
  while (answers.length > 0) {
    const resume = agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: "cancelled" }));
    try {
      await agent.runAgent({ resume: resume.length > 0 ? resume : undefined });
    } catch (error) {
      errors.push(text(error));
    }
  }
  class Transport extends DefaultChatTransport {
    read = (data) => this.processResponseStream(bodyOf(data).body);
  }
  const transport = new Transport();
  let message;
  for (const data of streams) {
    const fromError = (error) => void errors.push(text(error));
    const stream = transport.read(data.replace("data: [DONE]\n\n", ""));
    for await (const next of readUIMessageStream({ message, stream, onError: fromError })) message = next;
  }
  return { errors, messages: agent.messages, parts: message?.parts ?? [] };
}

// Until the answer to what a chat has asked begins.
async function opened({ name }) {
  await chats.get(name).kept.opened;
  return {};
}

const operations = { agUi, vercel, opened, read };
for await (const line of createInterface({ input: process.stdin })) {
  const { id, operation, ...given } = JSON.parse(line);
  operations[operation](given).then(
    (answer) => console.log(JSON.stringify({ id, ...answer })),
    (error) => console.log(JSON.stringify({ id, crash: error?.stack ?? text(error) })),
  );
}
