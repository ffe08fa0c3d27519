/// <reference lib="deno.ns" />
/**
 * Builds the page into `web/dist`: scripts and styles whose names hold a hash of their bytes, and
 * `index.html`, which names them. `deno task web` runs it.
 */

import { build, stop } from "esbuild";
import { join } from "node:path";

const FOLDER = import.meta.dirname ?? ".";
const OUT = join(FOLDER, "dist");

const { metafile } = await build({
  absWorkingDir: FOLDER,
  entryPoints: ["main.tsx"],
  bundle: true,
  format: "esm",
  splitting: true,
  minify: true,
  target: ["chrome123", "firefox121", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  outdir: OUT,
  metafile: true,
  logLevel: "warning",
});
await stop();

const made = Object.keys(metafile.outputs).map((path) => path.replace(/^.*\//, ""));
const nameOf = (end: string) => made.find((name) => name.startsWith("main-") && name.endsWith(end));
const html = (await Deno.readTextFile(join(FOLDER, "index.html")))
  .replace("main.css", nameOf(".css") ?? "")
  .replace("main.js", nameOf(".js") ?? "");
await Deno.writeTextFile(join(OUT, "index.html"), html);
for await (const { name } of Deno.readDir(OUT)) {
  if (name !== "index.html" && !made.includes(name)) await Deno.remove(join(OUT, name));
}
