// Reads documents as AsyncAPI's own parser does, and prints a line for each: what it finds wrong.
import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";

for (const file of process.argv.slice(2)) {
  const { document, diagnostics } = await new Parser().parse(readFileSync(file, "utf8"));
  const found = diagnostics
    .filter((one) => one.severity <= 1 && one.code !== "asyncapi-latest-version")
    .map((one) => [one.code, one.message, one.path.join(".")]);
  const channels = document?.channels().all().length ?? 0;
  const messages = document ? document.allMessages().all().length : 0;
  console.log(JSON.stringify({ found, channels, messages }));
}
