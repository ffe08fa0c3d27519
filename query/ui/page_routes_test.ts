import { deepStrictEqual, match, ok, strictEqual, throws } from "node:assert/strict";
import { join } from "node:path";
import { Hono } from "hono";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import type { ReadableFile } from "../../shared/os/file_system.ts";
import { OPTIONS } from "../flags.ts";
import { basePathOf, type PageConfig, pageConfigOf, pathBelow } from "./page_config.ts";
import { type PageFiles, readPageFiles } from "./page_files.ts";
import { addPage, isPagePath } from "./page_routes.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";

const BROWSER = { headers: { accept: "text/html,application/xhtml+xml" } };

function appOf(files: PageFiles | undefined, config: PageConfig = { auth: "open" }) {
  const app = new Hono<{ Bindings: Record<string, never> }>();
  addPage(app, files && { files, config });
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
      await Deno.writeTextFile(join(folder, "main-A1.js"), "const packed = 1;");
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
        /^default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; /,
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

Deno.test({
  name: "an answer holds a piece of its file, however large that is and whoever takes it slowly",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "svc-page-" });
    try {
      const bytes = crypto.getRandomValues(new Uint8Array(65_536));
      await Deno.writeTextFile(join(folder, "index.html"), "index.html");
      const whole = new Blob(Array(64).fill(bytes));
      await Deno.writeFile(join(folder, "big-C3.wasm"), whole.stream());
      const packed = whole.stream().pipeThrough(new CompressionStream("gzip"));
      await Deno.writeFile(join(folder, "big-C3.wasm.gz"), packed);
      const files = new DenoFileSystem();
      let bytesRead = 0;
      const counted = {
        readDir: (path: string) => files.readDir(path),
        readFile: (path: string) => files.readFile(path),
        async openRead(path: string): Promise<ReadableFile> {
          const file = await files.openRead(path);
          const close = () => file.close();
          return {
            async readAt(into: Uint8Array, offset: number) {
              const read = await file.readAt(into, offset);
              bytesRead += read;
              return read;
            },
            ...{
              size: () => file.size(),
              close,
              [Symbol.asyncDispose]: () => Promise.resolve(close()),
            },
          };
        },
      };
      const app = appOf(await readPageFiles(counted, folder));
      for (const accepted of ["gzip", "identity"]) {
        const headers = { "accept-encoding": accepted };
        const slow = (await app.request("/ui/big-C3.wasm", { headers })).body?.getReader();
        bytesRead = 0;
        strictEqual((await slow?.read())?.done, false);
        await slow?.cancel();
        ok(bytesRead <= 8 * 65_536, `${bytesRead} bytes for ${accepted}`);
      }
      const plain = await app.request("/ui/big-C3.wasm");
      deepStrictEqual(await plain.bytes(), await whole.bytes());
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

const ISSUER = ["--oidc-issuer", "https://id.example/realm", "--oidc-audience", "logs"];
const configOf = (...args: string[]) => pageConfigOf(parseOptions(OPTIONS, args), "oidc");

Deno.test({
  name: "the page is told the issuer and its client, and may ask that issuer alone",
  async fn() {
    const config = configOf(...ISSUER, "--oidc-client-id", "page", "--oidc-scope", "openid email");
    const app = appOf(new Map(), config);
    const answer = await app.request("/ui/config.json");
    deepStrictEqual(await answer.json(), {
      auth: "oidc",
      oidc: {
        issuer: "https://id.example/realm",
        client_id: "page",
        scope: "openid email",
        bearer: "access_token",
      },
    });
    match(
      answer.headers.get("content-security-policy") ?? "",
      /; connect-src 'self' https:\/\/id\.example; /,
    );
    strictEqual(configOf(...ISSUER, "--oidc-client-id", "logs").oidc?.bearer, "id_token");
    strictEqual(configOf(...ISSUER).oidc, undefined);
    throws(() => configOf("--oidc-client-id", "page"), /give --oidc-issuer/);
    throws(() => configOf(...ISSUER, "--oidc-client-id", "p", "--oidc-scope", "x"), /openid/);
  },
});

Deno.test({
  name: "--ui-base-path is a path, and is taken away where a request has it",
  fn() {
    const base = (path: string) => basePathOf(parseOptions(OPTIONS, ["--ui-base-path", path]));
    strictEqual(base("/logs/"), "/logs");
    strictEqual(base("/"), "");
    for (const path of ["logs", "/a b", "/a?b", "https://x.example/logs", "/a//b"]) {
      throws(() => base(path), /give a path such as/, path);
    }
    const below = (path: string) => pathBelow("/logs", { url: `http://x.example${path}` });
    deepStrictEqual(
      ["/logs", "/logs/", "/logs/ui/sql?q=1", "/ui/", "/logsx/ui/"].map(below),
      ["/", "/", "/ui/sql", "/ui/", "/logsx/ui/"],
    );
  },
});

Deno.test({
  name: "links may lead to / and to the page, and not to the API",
  fn() {
    for (const path of ["/", "/ui", "/ui/", "/ui/sql"]) strictEqual(isPagePath(path), true, path);
    for (const path of ["/api/v1/jobs", "/ui/a/b", "/uix", "/metrics"]) {
      strictEqual(isPagePath(path), false, path);
    }
  },
});
