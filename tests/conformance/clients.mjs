// Both TypeScript clients: as nobody, then with a token. node clients.mjs URL TOKEN; prints JSON.
import * as old from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as now from "@modelcontextprotocol/client";

const [url, token] = process.argv.slice(2);
const kinds = {
  "1.32": [old.Client, StreamableHTTPClientTransport],
  "2.4": [now.Client, now.StreamableHTTPClientTransport],
};

async function connect([Client, Transport], headers) {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new Transport(new URL(url), { requestInit: { headers } }));
  return client;
}

const found = {};
for (const [name, kind] of Object.entries(kinds)) {
  const nobody = await connect(kind, {});
  const tools = (await nobody.listTools()).tools.map((tool) => tool.name);
  const search = { name: "docs_search", arguments: { query: "cursor" } };
  const hits = (await nobody.callTool(search)).structuredContent.results.length;
  const list = { name: "project_list", arguments: {} };
  const refused = await nobody.callTool(list).then(() => "", (error) => String(error.message));
  const ada = await connect(kind, { authorization: `Bearer ${token}` });
  const projects = (await ada.callTool(list)).structuredContent.projects;
  found[name] = { tools, hits, refused, projects };
}
console.log(JSON.stringify(found));
process.exit(0);
