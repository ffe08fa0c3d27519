import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { Hono } from "hono";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { type PageFiles, readPageFiles } from "./page_files.ts";
import { addPage } from "./page_routes.ts";

const BROWSER = { headers: { accept: "text/html,application/xhtml+xml" } };

function appOf(files: PageFiles | undefined) {
  const app = new Hono<{ Bindings: Record<string, never> }>();
  addPage(app, files);
  return app;
}

Deno.test({
  name: "readPageFiles reads scripts, styles and the document, and nothing where nothing is built",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "svc-page-" });
    try {
      for (const name of ["index.html", "main-A1.js", "main-B2.css", "main.js.map"]) {
        await Deno.writeTextFile(join(folder, name), name);
      }
      const packed = new Blob(["const packed = 1;"]).stream()
        .pipeThrough(new CompressionStream("gzip"));
      await Deno.writeFile(join(folder, "main-A1.js.gz"), packed);
      await Deno.writeFile(join(folder, "big-C3.wasm"), new Uint8Array(2_000_000));
      const files = new DenoFileSystem();
      const found = await readPageFiles(files, folder);
      deepStrictEqual([...found.keys()].toSorted(), [
        "big-C3.wasm",
        "index.html",
        "main-A1.js",
        "main-B2.css",
      ]);
      deepStrictEqual(await readPageFiles(files, join(folder, "absent")), new Map());
      const app = appOf(found);
      const page = await app.request("/ui/");
      strictEqual(await page.text(), "index.html");
      strictEqual(page.headers.get("cache-control"), "no-cache");
      match(
        page.headers.get("content-security-policy") ?? "",
        /default-src 'none'; script-src 'self'/,
      );
      const script = await app.request("/ui/main-A1.js");
      match(script.headers.get("cache-control") ?? "", /immutable/);
      match(script.headers.get("content-type") ?? "", /^text\/javascript/);
      strictEqual(script.headers.get("content-encoding"), null);
      strictEqual(await script.text(), "const packed = 1;");
      for (const [accepted, encoding] of [["gzip, br", "gzip"], ["br, gzip;q=0", null]] as const) {
        const headers = { "accept-encoding": accepted };
        const answer = await app.request("/ui/main-A1.js", { headers });
        strictEqual(answer.headers.get("content-encoding"), encoding, accepted);
        strictEqual(answer.headers.get("vary"), "accept-encoding");
      }
      const big = await app.request("/ui/big-C3.wasm");
      strictEqual((await big.arrayBuffer()).byteLength, 2_000_000);
      strictEqual(big.headers.get("content-type"), "application/wasm");
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "the page's routes lead browsers to it, and say what to do where it is not built",
  async fn() {
    const app = appOf(new Map());
    strictEqual((await app.request("/", BROWSER)).headers.get("location"), "ui/");
    strictEqual((await app.request("/ui")).headers.get("location"), "ui/");
    strictEqual((await app.request("/")).status, 404);
    const missing = await app.request("/ui/");
    strictEqual(missing.status, 404);
    match((await missing.json()).error, /not built here; run deno task web/);
    strictEqual((await appOf(undefined).request("/ui/")).status, 404);
  },
});
