// Bundle the islands and copy the fonts: node bundle.mjs FOLDER.
// FOLDER gets <name>-<hash>.{js,css} as .gz and .br, the fonts, manifest.json and THIRD-PARTY.txt.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build } from "esbuild";

const FONTS = {
  "inter": "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2",
  "jetbrains-mono": "@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2",
};
const PACKAGE = /^(.*node_modules\/)((?:@[^/]+\/)?[^/]+)\//;

const folder = process.argv[2];
mkdirSync(folder, { recursive: true });
const entries = readdirSync("islands").filter((file) => file.endsWith(".ts"));
const { outputs, inputs } = (
  await build({
    entryPoints: entries.map((file) => `islands/${file}`),
    outdir: folder,
    entryNames: "[name]-[hash]",
    chunkNames: "part-[hash]",
    assetNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    minify: true,
    metafile: true,
    legalComments: "none",
    logLevel: "warning",
  })
).metafile;

const fonts = Object.fromEntries(Object.entries(FONTS).map(([name, file]) => [name, copyFont(name, file)]));
const bundled = Object.keys(outputs).map((file) => basename(file));
writeFileSync(
  join(folder, "THIRD-PARTY.txt"),
  describeLicences([...Object.keys(inputs), ...Object.values(FONTS).map((file) => `node_modules/${file}`)]),
);
const files = Object.fromEntries([...bundled, ...Object.values(fonts)].map((file) => [file, describeFile(file)]));
bundled.forEach(compress);
writeFileSync(join(folder, "manifest.json"), `${JSON.stringify({ islands: findIslands(), fonts, files }, null, 1)}\n`);

/** Return each island's script, its style sheet, and the scripts that it imports. */
function findIslands() {
  const islands = {};
  for (const [file, { entryPoint, cssBundle }] of Object.entries(outputs)) {
    if (!entryPoint?.startsWith("islands/")) continue;
    islands[basename(entryPoint, ".ts")] = {
      file: basename(file),
      style: cssBundle ? basename(cssBundle) : "",
      parts: [...new Set(findParts(file))].map((part) => basename(part)),
    };
  }
  return islands;
}

function findParts(file) {
  const direct = outputs[file].imports.filter(({ kind }) => kind === "import-statement");
  return direct.flatMap(({ path }) => [path, ...findParts(path)]);
}

function describeFile(file) {
  const bytes = readFileSync(join(folder, file));
  return { integrity: `sha384-${createHash("sha384").update(bytes).digest("base64")}` };
}

function copyFont(name, file) {
  const bytes = readFileSync(join("node_modules", file));
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 10);
  writeFileSync(join(folder, `${name}-${hash}.woff2`), bytes);
  return `${name}-${hash}.woff2`;
}

/** Replace a file by its compressed forms, so that the server only chooses one. */
function compress(file) {
  const bytes = readFileSync(join(folder, file));
  writeFileSync(join(folder, `${file}.gz`), gzipSync(bytes, { level: 9 }));
  writeFileSync(join(folder, `${file}.br`), brotliCompressSync(bytes));
  rmSync(join(folder, file));
}

/** Return name, version and licence text of each package among the sources. */
function describeLicences(sources) {
  const packages = new Map(sources.map((file) => PACKAGE.exec(file)).filter(Boolean).map(([, root, name]) => [name, root]));
  const texts = [...packages].sort().map(([name, root]) => {
    const { version, license } = JSON.parse(readFileSync(join(root, name, "package.json"), "utf8"));
    const text = readdirSync(join(root, name)).find((file) => /^(licen[cs]e|ofl|copying)/i.test(file));
    if (!text) throw new Error(`package '${name}' has no licence text; use one that has`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(root, name, text), "utf8").trim()}\n`;
  });
  return texts.join(`\n${"-".repeat(72)}\n\n`);
}
