/** `svc search` over a real query server: what it finds, how it looks, and what it refuses. */

import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { COMMANDS } from "../../cli/commands.ts";
import { RecordingConsole } from "../../cli/recording_console.ts";
import { runCommand } from "../../cli/run_command.ts";
import { OPTIONS, startQuery } from "../../query/mod.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { ONE_DUCKDB } from "../../shared/testing/one_duckdb.ts";
import { IN_THIS_PROCESS } from "../../shared/testing/in_this_process.ts";

const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const ROWS = [
  ["card declined: insufficient funds", { severity_text: "ERROR", "http.status_code": 502 }],
  ["GET /cart 200 in 31 ms", { severity_text: "info", user: "ann lee" }],
  ["\x1b[31m retry \x1b[0m 2 of 3", { level: "Warning" }],
  ["no attributes at all", undefined],
] as const;

async function withRows(test: (search: Search) => Promise<void>): Promise<void> {
  await using lab = await WarehouseLab.open();
  await lab.commit(ROWS.map(([raw, attributes], at) => ({
    ns: START_NS + BigInt(at) * 1_000_000_000n,
    raw,
    attributes: attributes === undefined ? null : JSON.stringify(attributes),
  })));
  await using server = await startQuery(
    parseOptions(OPTIONS, [
      ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--audit-disabled"],
      ...["--data-dir", lab.dir, "--threads", "2", ...ONE_DUCKDB],
    ]),
    IN_THIS_PROCESS,
  );
  const endpoint = `http://127.0.0.1:${server.address.port}`;
  await test(async (argv) => {
    const console = new RecordingConsole();
    const all = ["search", "--endpoint", endpoint, "--since", "2026-11-20", ...argv];
    const status = await runCommand(all, { commands: COMMANDS, console, env: () => undefined });
    return { status, output: console.outputText, notes: console.notesText };
  });
}

type Search = (argv: readonly string[]) => Promise<{
  readonly status: number;
  readonly output: string;
  readonly notes: string;
}>;

const LINES = [
  "2026-11-20T00:00:00.000000Z ERROR s card declined: insufficient funds http.status_code=502",
  '2026-11-20T00:00:01.000000Z info  s GET /cart 200 in 31 ms user="ann lee"',
  String.raw`2026-11-20T00:00:02.000000Z Warning s \x1b[31m retry \x1b[0m 2 of 3`,
  "2026-11-20T00:00:03.000000Z       s no attributes at all",
];

/** Arguments, and which rows they find. */
const SEARCHES: readonly (readonly [argv: readonly string[], rows: readonly number[]])[] = [
  [[], [0, 1, 2, 3]],
  [["funds"], [0]],
  [["level:>=warn"], [0, 2]],
  [["--", "-level:*"], [3]],
  [['http.status_code:>=500 "card declined"'], [0]],
  [['user:"ann lee" OR retry'], [1, 2]],
  [["--limit", "2"], [2, 3]],
  [["--since", "2026-11-20T00:00:01Z", "--until", "2026-11-20T00:00:03Z"], [1, 2]],
  [["absent"], []],
];

Deno.test({
  name: "svc search prints the rows that it finds, oldest first, and counts them on stderr",
  fn: () =>
    withRows(async (search) => {
      for (const [argv, rows] of SEARCHES) {
        const { status, output, notes } = await search(argv);
        const wanted = rows.map((row) => `${LINES[row]}\n`).join("");
        deepStrictEqual({ status, output }, { status: 0, output: wanted }, argv.join(" "));
        match(notes, rows.length === 1 ? /^1 row\b/ : new RegExp(`^${rows.length} rows`));
        strictEqual(/there are older ones/.test(notes), argv.includes("--limit"));
      }
      const { output, notes } = await search(["--format", "ndjson", "--quiet", "funds"]);
      deepStrictEqual([JSON.parse(output).raw, notes], [ROWS[0][0], ""]);
    }),
});

const REFUSED: readonly (readonly [argv: readonly string[], status: number, why: RegExp])[] = [
  [['a "b'], 2, /end of this text in quotes.*\n {2}a "b\n {4}\^\^$/m],
  [["x timestamp:>=soon"], 2, /with "soon": write a date.*\n {2}x timestamp.*\n {4}\^{16}$/m],
  [["--since", "yesterday"], 2, /Cannot take "yesterday" for --since: write how long ago/],
  [["--until", "2026-11-19"], 2, /Cannot look until 2026-11-19: that is not after --since/],
  [["--table", "nope"], 1, /Cannot read table "nope".*there is no such table/],
];

Deno.test({
  name: "svc search says what is wrong, and where",
  fn: () =>
    withRows(async (search) => {
      for (const [argv, wanted, why] of REFUSED) {
        const { status, output, notes } = await search(argv);
        deepStrictEqual([status, output], [wanted, ""], argv.join(" "));
        match(notes, why);
      }
    }),
});
