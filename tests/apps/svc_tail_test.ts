/** `svc search --tail` as a process in a pipe: what it prints, how it goes on, and how it ends. */

import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { OPTIONS, startQuery } from "../../query/mod.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { type LabEvent, WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";
import { ONE_DUCKDB } from "../../shared/testing/one_duckdb.ts";
import { IN_THIS_PROCESS } from "../../shared/testing/in_this_process.ts";

const MAIN = new URL("../../cli/main.ts", import.meta.url).pathname;
const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z

/** A program whose lines are read one by one. */
class Piped implements AsyncDisposable {
  readonly process: Deno.ChildProcess;
  readonly stderr: Promise<string>;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = "";

  constructor(argv: readonly string[]) {
    this.process = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "--quiet", MAIN, "search", ...argv],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.stderr = new Response(this.process.stderr).text();
    this.#reader = this.process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** The next `count` lines, fewer at the end. */
  async lines(count: number): Promise<string[]> {
    for (;;) {
      const lines = this.#text.split("\n");
      if (lines.length > count) {
        this.#text = lines.slice(count).join("\n");
        return lines.slice(0, count);
      }
      const { done, value } = await this.#reader.read();
      if (done) return lines.filter((line) => line !== "");
      this.#text += value;
    }
  }

  /** Ctrl-C; status and stderr. */
  async interrupt(): Promise<{ readonly code: number; readonly stderr: string }> {
    this.process.kill("SIGINT");
    const { code } = await this.process.status;
    await this.#reader.cancel();
    return { code, stderr: await this.stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.process.kill("SIGKILL");
    } catch {
      // It has ended.
    }
    await this.#reader.cancel().catch(() => {});
    await this.process.status;
  }
}

function rows(...raws: readonly string[]): LabEvent[] {
  return raws.map((raw, at) => ({ ns: START_NS + BigInt(at), raw, host: "web-1" }));
}

function serve(lab: WarehouseLab, port: number | undefined) {
  return startQuery(
    parseOptions(OPTIONS, [
      ...["--bind", `127.0.0.1:${port}`, "--metrics-bind", "127.0.0.1:0", "--audit-disabled"],
      ...["--data-dir", lab.dir, "--threads", "2", "--query-wal-buffer-dir", `${lab.dir}/wal`],
      ...ONE_DUCKDB,
    ]),
    IN_THIS_PROCESS,
  );
}

Deno.test({
  name: "svc search --tail prints rows as they come, goes on after a restart, and ends by Ctrl-C",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.commit(rows("old one", "old two", "other"));
    const [port] = freePorts(1);
    const server = await serve(lab, port);
    await using search = new Piped([
      ...["--endpoint", `http://127.0.0.1:${port}`, "--since", "2026-11-20"],
      ...["--format", "ndjson", "--tail", "-other"].toSpliced(3, 0, "--"),
    ]);
    const raws = async (count: number) =>
      (await search.lines(count)).map((line) => JSON.parse(line).raw);
    deepStrictEqual(await raws(2), ["old one", "old two"]);
    await lab.append(rows("new one", "other", "new two"));
    deepStrictEqual(await raws(2), ["new one", "new two"]);
    await server.stop();
    await lab.append(rows("meanwhile"));
    await using _again = await serve(lab, port);
    deepStrictEqual(await raws(1), ["meanwhile"]);
    await lab.append(rows("after"));
    deepStrictEqual(await raws(1), ["after"]);
    const { code, stderr } = await search.interrupt();
    strictEqual(code, 0, stderr);
    match(
      stderr,
      /^2 rows · .*\nsvc: the connection is lost: .*; trying again\nsvc: connected again\n$/,
    );
  },
});

Deno.test({
  name: "svc search --tail in text says how many rows were skipped, and ends with its reader",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.append(rows("old"));
    const [port] = freePorts(1);
    await using _server = await serve(lab, port);
    const endpoint = ["--endpoint", `http://127.0.0.1:${port}`];
    await using search = new Piped([...endpoint, "--since", "2026-11-20", "--tail"]);
    match((await search.lines(1))[0] ?? "", /^2026-11-20T00:00:00.000000Z {7}s old$/);
    await lab.append(rows(...Array.from({ length: 12_000 }, (_, n) => `row ${n}`)));
    const lines = await search.lines(10_000);
    match(lines.at(-1) ?? "", / s row \d+$/);
    // The second whose rows are all sent goes by.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await lab.append(rows("last"));
    match((await search.lines(1))[0] ?? "", / s last$/);
    const { code, stderr } = await search.interrupt();
    strictEqual(code, 0);
    match(stderr, /svc: 2000 rows skipped|svc: 2,000 rows skipped/);
  },
});

Deno.test({
  name: "svc search --tail refuses what it cannot follow",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.append(rows("old"));
    const [port] = freePorts(1);
    await using _server = await serve(lab, port);
    const cases = [
      [["--tail", "--until", "2026-11-21"], 2, /leave --until or --tail out/],
      [["--tail", "--table", "nope"], 1, /Cannot read table "nope"/],
    ] as const;
    for (const [argv, status, why] of cases) {
      await using search = new Piped(["--endpoint", `http://127.0.0.1:${port}`, ...argv]);
      const { code } = await search.process.status;
      strictEqual(code, status);
      match(await search.stderr, why);
    }
  },
});
