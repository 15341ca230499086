// The JSON API. An answer that is a problem is thrown as an Error with its detail.

const KEY = "agentsdk.token";

// The token comes in the fragment, which no server and no log sees, and leaves the address at once.
export function takeToken() {
  const found = /[#&]token=([^&]+)/.exec(location.hash);
  if (!found) return;
  sessionStorage.setItem(KEY, decodeURIComponent(found[1]));
  history.replaceState(null, "", `${location.pathname}${location.search}#/`);
}

const headers = (more = {}) => ({ authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}`, ...more });

async function answered(response) {
  const text = await response.text();
  if (response.ok) return text ? JSON.parse(text) : null;
  const isProblem = (response.headers.get("content-type") ?? "").startsWith("application/problem+json");
  const error = new Error(isProblem ? JSON.parse(text).detail : `the server answered with ${response.status}`);
  error.status = response.status;
  throw error;
}

export const get = async (path) => answered(await fetch(`api/${path}`, { headers: headers() }));

export const post = async (path, body = {}) =>
  answered(await fetch(`api/${path}`, { method: "POST", headers: headers({ "content-type": "application/json" }), body: JSON.stringify(body) }));

export const text = async (path) => {
  const response = await fetch(`api/${path}`, { headers: headers() });
  return response.ok ? response.text() : answered(response);
};

export const of = (id) => `runs/${encodeURIComponent(id)}`;

// Server-sent events by fetch, as an EventSource can send no token. It goes on from the last event after a cut.
export function follow(path, after, onEvent, onState = () => {}) {
  const stop = new AbortController();
  let last = after;
  (async () => {
    for (let wait = 500; !stop.signal.aborted; wait = Math.min(wait * 2, 10_000)) {
      try {
        const response = await fetch(`api/${path}${last === null ? "" : `?after=${last}`}`, { headers: headers(), signal: stop.signal });
        if (!response.ok) await answered(response);
        onState("live");
        wait = 500;
        for await (const event of events(response.body)) {
          if (event.id !== null) last = event.id;
          if (event.type === "end") {
            onState("");
            return;
          }
          onEvent(event.type, JSON.parse(event.data));
        }
      } catch (error) {
        if (stop.signal.aborted) return;
        if (error.status >= 400 && error.status < 500 && error.status !== 429) {
          onState("");
          return;
        }
      }
      onState("reconnecting");
      await new Promise((done) => setTimeout(done, wait));
    }
  })();
  return () => stop.abort();
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const pieces = (rest + value).split("\n\n");
    rest = pieces.pop();
    for (const piece of pieces) {
      const event = { type: "message", data: "", id: null };
      for (const line of piece.split("\n")) {
        const at = line.indexOf(": ");
        const name = line.slice(0, at);
        if (name === "event") event.type = line.slice(at + 2);
        else if (name === "data") event.data = line.slice(at + 2);
        else if (name === "id") event.id = Number(line.slice(at + 2));
      }
      if (event.data) yield event;
    }
  }
}
