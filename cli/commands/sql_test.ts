import { strict as assert } from "node:assert";
import { OperatingError } from "../../shared/base/errors.ts";
import type { FakeEngineOptions } from "../../tests/doubles/fake_engine.ts";
import { startTestServer } from "../../tests/doubles/query_server.ts";
import { COMMANDS } from "../commands.ts";
import { RecordingConsole } from "../recording_console.ts";
import { runCommand } from "../run_command.ts";

interface Ran {
  readonly status: number;
  readonly output: string;
  readonly notes: string;
}

/** Runs `svc sql` with `argv`. */
async function svcSql(
  argv: readonly string[],
  options: { input?: string; env?: Record<string, string> } = {},
): Promise<Ran> {
  const console = new RecordingConsole(options.input);
  const env = (name: string) => options.env?.[name];
  const status = await runCommand(["sql", ...argv], { commands: COMMANDS, console, env });
  return { status, output: console.outputText, notes: console.notesText };
}

async function withServer(
  options: FakeEngineOptions,
  test: (ask: typeof svcSql, url: string) => Promise<void>,
): Promise<void> {
  await using server = await startTestServer(options, ["--max-rows", "3"]);
  const ask: typeof svcSql = (argv, more = {}) =>
    svcSql(argv, { ...more, env: { SVC_ENDPOINT: server.url, ...more.env } });
  await test(ask, server.url);
}

const FOOTER = /^2 rows · scan · [\d.]+ ms server · 1 file · 40 rows scanned · 300 B\n$/;

Deno.test({
  name: "svc sql writes rows to stdout in each format, and the footer to stderr",
  fn: () =>
    withServer({ rows: [1, "a"] }, async (ask) => {
      const cases: [string, string, RegExp][] = [
        ["table", "n\n-\n1\na\n", FOOTER],
        ["json", '[\n  {"n":1},\n  {"n":"a"}\n]\n', FOOTER],
        ["ndjson", '{"n":1}\n{"n":"a"}\n', /^2 rows · [\d.]+ ms server\n$/],
      ];
      for (const [format, output, notes] of cases) {
        const ran = await ask(["--format", format, "SELECT n"]);
        assert.deepEqual([ran.status, ran.output], [0, output]);
        assert.match(ran.notes, notes);
        const quiet = await ask(["--quiet", "--format", format, "SELECT n"]);
        assert.deepEqual(quiet, { status: 0, output, notes: "" });
      }
    }),
});

Deno.test({
  name: "svc sql shows a truncated answer with a note, quiet or not, and exits with 3",
  fn: () =>
    withServer({ rows: [1, 2, 3, 4] }, async (ask) => {
      const outputs = {
        table: "n\n-\n1\n2\n3\n",
        json: '[\n  {"n":1},\n  {"n":2},\n  {"n":3}\n]\n',
        ndjson: '{"n":1}\n{"n":2}\n{"n":3}\n',
      };
      for (const [format, output] of Object.entries(outputs)) {
        const ran = await ask(["--format", format, "SELECT n"]);
        assert.deepEqual([ran.status, ran.output], [3, output]);
        assert.match(ran.notes, /^3 rows · .* · truncated at 3 rows: /);
        const quiet = await ask(["--quiet", "--format", format, "SELECT n"]);
        assert.deepEqual([quiet.status, quiet.output], [3, output]);
        assert.match(quiet.notes, /^svc: the answer is truncated at 3 rows: .*--max-rows/);
        const fewer = await ask(["--max-rows", "2", "--format", format, "SELECT n"]);
        assert.match(fewer.notes, /truncated at 2 rows/);
      }
    }),
});

Deno.test({
  name: "svc sql --dry-run shows the cost and runs nothing",
  fn: () =>
    withServer({
      onChunk() {
        throw new Error("ran");
      },
    }, async (ask) => {
      const table = await ask(["--dry-run", "SELECT n"]);
      assert.equal(table.status, 0);
      assert.match(table.output, /^files to scan {6}1 of 2$/m);
      assert.match(table.output, /^table events {7}snapshot 9007199254740993, 1 file$/m);
      const json = await ask(["--dry-run", "--format", "json", "SELECT n"]);
      assert.equal(JSON.parse(json.output).cost.estimated_rows_processed, 40);
    }),
});

Deno.test({
  name: "svc sql runs each piped statement and fails when one did",
  fn: () =>
    withServer({
      rows: [1],
      onPrepare({ sql }) {
        if (!sql.includes("bad")) return;
        throw new OperatingError("invalid_argument", "no table bad\n\nLINE 1\n  ^\x1b[2J");
      },
    }, async (ask) => {
      const flags = ["--quiet", "--format", "ndjson"];
      const row = '{"n":1}\n';
      const cases: [string, string, number][] = [
        ["SELECT 1; SELECT 2 -- the last one\n", row + row, 0],
        ["SELECT 1; SELECT bad; SELECT 3;\n", row + row, 1],
        ["-- nothing\n", "", 0],
      ];
      for (const [input, output, status] of cases) {
        const ran = await ask(flags, { input });
        assert.deepEqual([ran.status, ran.output], [status, output], input);
        assert.equal(
          ran.notes,
          status === 0 ? "" : "svc: no table bad (HTTP 400)\n\nLINE 1\n  ^\\x1b[2J\n",
        );
      }
    }),
});

Deno.test({
  name: "svc sql takes backslash commands from a pipe, as at the prompt",
  fn: () =>
    withServer({ rows: [1, 2, 3, 4] }, async (ask) => {
      const row = (n: number) => `{"n":${n}}\n`;
      const rows = row(1) + row(2) + row(3);
      const cases: [input: string, output: string, status: number, notes: RegExp][] = [
        ["\\q\n", "", 0, /^$/],
        ["SELECT 1;\n\\q\nSELECT 2;\n", rows, 3, /^svc: the answer is truncated[^\n]*\n$/],
        ["quit\nSELECT 2;\n", "", 0, /^$/],
        ["\\format json\nSELECT 1;\n", '[\n  {"n":1},\n  {"n":2},\n  {"n":3}\n]\n', 3, /truncated/],
        ["\\?\n", "", 0, /\\format table/],
        ["\\nope\nSELECT 1;", rows, 1, /no command \\nope/],
        ["\\format csv\n", "", 1, /cannot use \\format "csv"/],
        // Within a statement it is a part of it.
        ["SELECT\nquit\n;", rows, 3, /truncated/],
      ];
      for (const [input, output, status, notes] of cases) {
        const ran = await ask(["--quiet", "--format", "ndjson"], { input });
        assert.deepEqual([ran.status, ran.output], [status, output], input);
        assert.match(ran.notes, notes, input);
      }
    }),
});

Deno.test({
  name: "svc sql tells a stream that ended early and exits with 1",
  fn: () =>
    withServer({
      rows: [1, 2, 3],
      onChunk(at) {
        if (at === 1) {
          throw new OperatingError("unavailable", "no memory", { reason: "pool_exhausted" });
        }
      },
    }, async (ask) => {
      const ran = await ask(["--format", "ndjson", "SELECT n"]);
      assert.deepEqual(ran, {
        status: 1,
        output: '{"n":1}\n{"n":2}\n',
        notes: "svc: The answer ended early, after 2 rows: no memory (try again in 5 s)\n",
      });
    }),
});

Deno.test({
  name: "svc sql explains what it cannot do, with its exit status",
  fn: () =>
    withServer({ rows: [1] }, async (ask, url) => {
      const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const nobody = `http://127.0.0.1:${free.addr.port}`;
      free.close();
      const cases: [string[], number, RegExp][] = [
        [
          ["--endpoint", nobody, "SELECT 1"],
          1,
          /Cannot reach .*127\.0\.0\.1:\d+: .*refused.*--endpoint/,
        ],
        [["--endpoint", "localhost:1", "SELECT 1"], 2, /Cannot use "localhost:1".*http:/],
        [["--endpoint", `${url}/elsewhere`, "SELECT 1"], 1, /no such route.*HTTP 404/],
        [["--endpoint", `${url}/`, "SELECT 1"], 0, /1 row /],
        [[""], 1, /HTTP 400/],
        [["--format", "csv", "SELECT 1"], 2, /--format csv.*table, json, ndjson/],
        [["--nope"], 2, /--nope/],
        [["a", "b"], 2, /arguments/],
      ];
      for (const [argv, status, notes] of cases) {
        const ran = await ask(argv);
        assert.match(ran.notes, notes);
        assert.equal(ran.status, status, argv.join(" "));
      }
    }),
});

Deno.test({
  name: "svc sql sends the token of --token, else of SVC_TOKEN",
  async fn() {
    const seen: (string | null)[] = [];
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request) => {
        seen.push(request.headers.get("authorization"));
        return Response.json({ error: "who are you", code: 401 }, { status: 401 });
      },
    );
    const env = { SVC_ENDPOINT: `http://127.0.0.1:${server.addr.port}`, SVC_TOKEN: "from-env" };
    const ran = await svcSql(["SELECT 1"], { env });
    assert.deepEqual([ran.status, ran.output], [1, ""]);
    assert.match(ran.notes, /who are you \(HTTP 401; give a token with --token or SVC_TOKEN\)/);
    await svcSql(["--token", "from-flag", "SELECT 1"], { env });
    assert.deepEqual(seen, ["Bearer from-env", "Bearer from-flag"]);
  },
});

Deno.test({
  name: "svc sql --batch and --job run, fail and refuse with their exit status",
  async fn() {
    const dir = await Deno.makeTempDir({ prefix: "svc-sql-batch-" });
    await Deno.mkdir(`${dir}/warehouse`);
    try {
      await using server = await startTestServer({
        rows: [1, "a"],
        onPrepare({ sql }) {
          if (sql.includes("bad")) throw new OperatingError("invalid_argument", "no table bad");
        },
      }, ["--data-dir", dir]);
      const env = { SVC_ENDPOINT: server.url };
      const output = '{"n":1}\n{"n":"a"}\n';
      const flags = ["--batch", "--format", "ndjson"];
      const ran = await svcSql([...flags, "SELECT n"], { env });
      assert.deepEqual([ran.status, ran.output], [0, output]);
      assert.match(ran.notes, FOOTER_OF_JOB);
      const piped = await svcSql(flags, { env, input: "SELECT 1; SELECT bad; SELECT 2" });
      assert.deepEqual([piped.status, piped.output], [1, output + output]);
      assert.match(piped.notes, /^svc: no table bad \(HTTP 400\)$/m);
      const [job] = await (await fetch(`${server.url}/api/v1/jobs`)).json();
      const again = await svcSql(["--job", job.job_id, "--quiet"], { env });
      assert.deepEqual(again, { status: 0, output: "n\n-\n1\na\n", notes: "" });
      const unknown = await svcSql(["--job", "x/../y"], { env });
      assert.deepEqual(unknown.status, 1);
      assert.match(unknown.notes, /Cannot find job .*HTTP 404/);
      assert.equal((await svcSql(["--job", job.job_id, "SELECT 1"], { env })).status, 2);
      const cost = await svcSql(["--batch", "--dry-run", "SELECT n"], { env });
      assert.match(cost.output, /^files to scan/);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

const FOOTER_OF_JOB = /^2 rows · scan · [\d.]+ ms server · 1 file · 40 rows scanned · 300 B\n$/;
