/// <reference lib="deno.ns" />
/**
 * `deno task web`: builds the page into `web/dist`. Names of scripts and styles hold a hash of
 * their bytes, and `index.html` names them. A file that is there has the right bytes already;
 * others are renamed into place, and the document comes last. So builds may run at once and beside
 * a server. With `--if-newer` nothing is done unless a source is newer than the document. `--out
 * DIR`, the last argument, builds elsewhere.
 */

import { join } from "node:path";
import type { Plugin } from "esbuild";
import { firstScripts, oneChunk, type Outputs } from "./one_chunk.ts";

const ROOT = join(import.meta.dirname ?? ".", "..");
const WEB = join(ROOT, "web");
const [outFlag, out] = Deno.args.slice(-2);
const OUT = outFlag === "--out" && out !== undefined ? out : join(WEB, "dist");
const DOCUMENT = "index.html";
/** A server that starts, or a page that is open, may still want the files of an older build. */
const KEPT_MS = 3_600_000;
const COMPRESSED = /\.(?:js|css|wasm)$/;
/** What the page is made of; a change of a package changes `web/deno.json`. */
const SOURCES = ["web", "shared"].map((folder) => join(ROOT, folder));

if (!Deno.args.includes("--if-newer") || await isOutdated()) await buildPage();

async function isOutdated(): Promise<boolean> {
  const built = await Deno.stat(join(OUT, DOCUMENT)).catch(() => undefined);
  const builtMs = built?.mtime?.getTime() ?? -1;
  const newest = await Promise.all(SOURCES.map((folder) => newestMs(folder)));
  return newest.some((ms) => ms >= builtMs);
}

/** When a file below `folder` was last changed, made or removed, in Unix milliseconds. */
async function newestMs(folder: string): Promise<number> {
  let newest = (await Deno.stat(folder)).mtime?.getTime() ?? 0;
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (path === OUT || name === "node_modules") continue;
    const ms = isDirectory ? await newestMs(path) : (await Deno.stat(path)).mtime?.getTime() ?? 0;
    newest = Math.max(newest, ms);
  }
  return newest;
}

async function buildPage(): Promise<void> {
  const begun = new Date();
  const { build, stop } = await import("esbuild");
  const bundle = (plugins: Plugin[]) =>
    build({
      absWorkingDir: WEB,
      entryPoints: ["main.tsx"],
      bundle: true,
      format: "esm",
      splitting: true,
      minify: true,
      target: ["chrome123", "firefox125", "safari17.5"],
      jsx: "automatic",
      jsxImportSource: "preact",
      entryNames: "[name]-[hash]",
      chunkNames: "[name]-[hash]",
      assetNames: "[name]-[hash]",
      loader: { ".wasm": "file" },
      outdir: OUT,
      metafile: true,
      write: false,
      logLevel: "warning",
      plugins,
    });
  const apart = await bundle([]);
  const { metafile, outputFiles } = await bundle([
    oneChunk({ folder: WEB, outputs: apart.metafile.outputs, readText: Deno.readTextFile }),
  ]);
  await stop();
  await Deno.mkdir(OUT, { recursive: true });
  const made = new Set<string>();
  for (const { path, contents } of outputFiles) {
    await writeWithCompressed(nameOf(path), new Uint8Array(contents), made);
  }
  const html = await documentText(metafile.outputs);
  await writeWithCompressed(DOCUMENT, new TextEncoder().encode(html), made);
  // What was changed during the build is newer than it.
  await Deno.utime(join(OUT, DOCUMENT), begun, begun);
  await removeOld(made);
}

/** The document loads the first page's scripts together, instead of one after another. */
async function documentText(outputs: Outputs): Promise<string> {
  const [main = "", ...others] = firstScripts(outputs);
  const preloads = others
    .map((path) => `<link rel="modulepreload" href="${nameOf(path)}">\n    `);
  const style = outputs[main]?.cssBundle ?? "";
  return (await Deno.readTextFile(join(WEB, DOCUMENT)))
    .replace("main.css", nameOf(style))
    .replace(
      '<script type="module" src="main.js">',
      (script) => preloads.join("") + script.replace("main.js", nameOf(main)),
    );
}

async function writeWithCompressed(
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  made: Set<string>,
): Promise<void> {
  const packed = `${name}.gz`;
  if (COMPRESSED.test(name) && !await isThere(packed)) {
    await writeByRename(packed, await gzipped(bytes));
  }
  if (!await isThere(name)) await writeByRename(name, bytes);
  made.add(name).add(packed);
}

async function gzipped(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}

/** Whether it is there already, which makes it as new as this build. */
async function isThere(name: string): Promise<boolean> {
  if (name === DOCUMENT) return false;
  const now = new Date();
  return await Deno.utime(join(OUT, name), now, now).then(() => true, () => false);
}

async function writeByRename(name: string, bytes: Uint8Array): Promise<void> {
  const begun = join(OUT, `${name}.${crypto.randomUUID()}.begun`);
  await Deno.writeFile(begun, bytes);
  await Deno.rename(begun, join(OUT, name));
}

async function removeOld(made: ReadonlySet<string>): Promise<void> {
  for await (const { name } of Deno.readDir(OUT)) {
    if (made.has(name)) continue;
    const path = join(OUT, name);
    const madeMs = await Deno.stat(path).then(({ mtime }) => mtime?.getTime(), () => undefined);
    if (madeMs === undefined || Date.now() - madeMs < KEPT_MS) continue;
    // Another build may have removed it.
    await Deno.remove(path).catch(() => {});
  }
}

function nameOf(path: string): string {
  return path.replace(/^.*\//, "");
}
