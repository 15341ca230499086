// The calls of the service. An answer that is a problem is thrown as an Error with its detail.

async function ask(method, path, body, headers = {}) {
  const answer = await fetch(path, {
    method,
    headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  if (answer.ok) return text ? JSON.parse(text) : null;
  let detail = `the service answered with ${answer.status}`;
  if (answer.headers.get("content-type") === "application/problem+json") detail = JSON.parse(text).detail;
  throw new Error(detail);
}

const of = (id) => `api/runs/${encodeURIComponent(id)}`;

export const signIn = (token) => ask("POST", "sign-in", { token });
export const listRuns = () => ask("GET", "api/runs");
export const getRun = (id) => ask("GET", of(id));
export const decide = (id, decision) => ask("POST", `${of(id)}/decisions`, decision);
export const answer = (id, given) => ask("POST", `${of(id)}/answers`, given);

// `key` is the same for each attempt at one run: a lost answer does not begin another.
export const begin = (input, key) => ask("POST", "api/runs", { input }, { "idempotency-key": key });

// The browser comes again by itself where the connection is cut, and says which event it saw last.
export function follow(id, onEvent, onDelta) {
  const source = new EventSource(`${of(id)}/events`);
  source.onmessage = (message) => onEvent(JSON.parse(message.data));
  source.addEventListener("delta", (message) => onDelta(JSON.parse(message.data)));
  return source;
}
