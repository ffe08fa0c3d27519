import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { join } from "node:path";

const PROGRAM = new URL("../../web/build.ts", import.meta.url).pathname;
const BUILDS_AT_ONCE = 2;
const FORGOTTEN_MS = 7_200_000;
const BYTES_MAX = 200 * 1024;
/** Browsers fetch so many files at a time over HTTP/1.1. */
const FILES_MAX = 6;

async function build(folder: string, ...args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-A", PROGRAM, ...args, "--out", folder],
  }).output();
  ok(success, new TextDecoder().decode(stderr));
}

/** Every file that the document names, its own name included. */
async function named(folder: string): Promise<string[]> {
  const html = await Deno.readTextFile(join(folder, "index.html"));
  const names = [...html.matchAll(/(?:href|src)="([^":]+\.(?:js|css))"/g)].map(([, name]) => name);
  return ["index.html", ...names.map((name) => name ?? "")];
}

// Most of a build is that it compresses DuckDB, which is not done again where that is there.
Deno.test({
  name: "a build of the page",
  async fn(t) {
    const folder = await Deno.makeTempDir({ prefix: "svc-build-" });
    try {
      await t.step(
        "with --if-newer where nothing is, and builds at once: a whole page, no old files",
        async () => {
          const old = join(folder, "main-OLD.js");
          await Deno.writeTextFile(old, "old");
          await Deno.utime(old, new Date(), new Date(Date.now() - FORGOTTEN_MS));
          await Deno.writeTextFile(join(folder, "main-RECENT.js"), "recent");
          await Promise.all(
            Array.from({ length: BUILDS_AT_ONCE }, () => build(folder, "--if-newer")),
          );
          const there = Array.from(Deno.readDirSync(folder), ({ name }) => name);
          const names = await named(folder);
          deepStrictEqual(names.filter((name) => !there.includes(name)), []);
          ok(names.some((name) => name.startsWith("logs_page-")), "the first page is preloaded");
          strictEqual(there.includes("main-OLD.js"), false);
          ok(there.includes("main-RECENT.js"));
          deepStrictEqual(there.filter((name) => name.endsWith(".begun")), []);
        },
      );

      await t.step("the document's scripts and styles are fetched together", async () => {
        const [, ...files] = await named(folder);
        ok(files.length <= FILES_MAX, files.join(" "));
      });

      await t.step("the first page takes at most 200 KiB, compressed", async () => {
        const sizes = await Promise.all((await named(folder)).map(async (name) => {
          const packed = await Deno.stat(join(folder, `${name}.gz`)).catch(() => undefined);
          return (packed ?? await Deno.stat(join(folder, name))).size;
        }));
        const bytes = sizes.reduce((sum, size) => sum + size, 0);
        ok(bytes <= BYTES_MAX, `${bytes} bytes`);
      });

      await t.step("with --if-newer: nothing where nothing changed, else anew", async () => {
        const { ino } = await Deno.stat(join(folder, "index.html"));
        await build(folder, "--if-newer");
        strictEqual((await Deno.stat(join(folder, "index.html"))).ino, ino);
        await Deno.utime(join(folder, "index.html"), new Date(0), new Date(0));
        await build(folder, "--if-newer");
        ok((await Deno.stat(join(folder, "index.html"))).mtime?.getTime() !== 0);
      });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
