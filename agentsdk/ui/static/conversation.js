// The items of a run as a reader sees them.

import { el, tree } from "./dom.js";

export function conversation(items) {
  const list = el("ol.conversation", { "aria-label": "Conversation" });
  for (const item of items) list.append(shown(item));
  return list;
}

export function shown(item) {
  if (item.type === "message") return el(`li.item.role-${item.role}`, el("small", item.role), el("div.text", words(item.content)));
  if (item.type === "function_call") return el("li.item.call", el("small", `calls ${item.name}`), json(item.arguments));
  if (item.type === "function_call_output") return el("li.item.result", el("small", item.is_error ? "error" : "result"), json(item.output));
  if (item.type === "reasoning") return el("li.item.thinking", el("small", "thinking"), el("div.text", words(item.summary ?? item.content ?? item.text ?? "")));
  return el("li.item", el("small", item.type), tree(item, 0));
}

function words(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content ? JSON.stringify(content) : "";
  return content.map((part) => (typeof part === "string" ? part : (part.text ?? part.refusal ?? (part.image_url?.startsWith?.("data:image/") ? el("img", { alt: "An image of the conversation", src: part.image_url }) : `[${part.type}]`))));
}

function json(given) {
  if (typeof given !== "string") return el("div.text", words(given));
  try {
    const value = JSON.parse(given);
    return value !== null && typeof value === "object" ? tree(value, 1) : el("div.text", given);
  } catch {
    return el("div.text", given);
  }
}
