// Reads a document as AsyncAPI's own parser does, and prints what it finds wrong.
import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";

const { document, diagnostics } = await new Parser().parse(readFileSync(process.argv[2], "utf8"));
const found = diagnostics
  .filter((one) => one.severity <= 1 && one.code !== "asyncapi-latest-version")
  .map((one) => [one.code, one.message, one.path.join(".")]);
const messages = document ? document.allMessages().all().length : 0;
console.log(JSON.stringify({ found, channels: document?.channels().all().length ?? 0, messages }));
