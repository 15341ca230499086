// The official TypeScript client: connects as its one argument says (JSON), lists the tools, makes the calls, and prints what came.
//   {"package": folder, "url" | "command": ..., "era": "legacy" | "auto", "answers": [...], "calls": [{"name", "arguments"}]}
import { pathToFileURL } from "node:url";

const given = JSON.parse(process.argv[2]);
const load = (file) => import(pathToFileURL(`${given.package}/dist/${file}`).href);
const { Client, StreamableHTTPClientTransport } = await load("index.mjs");
const { StdioClientTransport } = await load("stdio.mjs");

const asked = [], results = [];
const client = new Client(
  { name: "typescript", version: "1" },
  { capabilities: given.answers ? { elicitation: {} } : {}, versionNegotiation: { mode: given.era } },
);
if (given.answers)
  client.setRequestHandler("elicitation/create", async (request) => {
    asked.push(request.params.message);
    return given.answers.shift();
  });
const transport = given.url
  ? new StreamableHTTPClientTransport(new URL(given.url))
  : new StdioClientTransport({ command: given.command[0], args: given.command.slice(1), env: { ...process.env } });
await client.connect(transport);
const tools = (await client.listTools()).tools.map((tool) => tool.name);
for (const call of given.calls) results.push(await client.callTool(call));
console.log(JSON.stringify({ era: client.getProtocolEra(), tools, results, asked }));
await client.close();
