/** Drivers of Python, and psql, ask a query server by PostgreSQL's protocol. */

import assert from "node:assert/strict";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { isInstalled } from "../clients/programs.ts";
import { startLabServer } from "../doubles/lab_server.ts";
import { hasPackages, NO_PYTHON, runPython } from "./python.ts";

/** What every driver makes of the types. */
const TYPED = [
  ...[true, 1, 2, 3, "1.50", 0.5, 0.25, "x", "01ff", "2024-02-29", "01:02:03.500000"],
  ...["2024-02-29T01:02:03.000004", "2024-02-29T01:02:03+00:00", 86_402],
  "00112233-4455-6677-8899-aabbccddeeff",
  "170141183460469231731687303715884105727",
];

async function asked(client: string): Promise<Record<string, unknown>> {
  await using lab = await labOfRows();
  await using server = await startLabServer(lab, ["--pg-listen", "127.0.0.1:0"]);
  const port = String(server.server.pgAddress?.port);
  return JSON.parse(await runPython("./postgres_clients.py", [client, port]));
}

async function labOfRows(): Promise<WarehouseLab> {
  const lab = await WarehouseLab.open();
  await lab.commit(Array.from({ length: 5 }, (_, at) => ({
    ns: BigInt(1_700_000_000 + at) * 1_000_000_000n,
    raw: `row ${at}`,
  })));
  return lab;
}

const HAS_PSYCOPG = await hasPackages(["psycopg"]);
const HAS_ASYNCPG = await hasPackages(["asyncpg"]);
const HAS_SQLALCHEMY = await hasPackages(["psycopg", "sqlalchemy"]);
const HAS_PSQL = await isInstalled("psql");
const named = (name: string, isThere: boolean) => isThere ? name : `${name} (${NO_PYTHON})`;

Deno.test({
  name: named("psycopg reads types in both formats, binds, copies and goes on", HAS_PSYCOPG),
  ignore: !HAS_PSYCOPG,
  fn: async () => {
    const told = await asked("psycopg");
    assert.deepEqual(told, {
      text: TYPED,
      binary: TYPED,
      found: ["row 1", "row 3"],
      list: [1, null, 3],
      copied: ["row 0", "row 1", "row 2", "row 3", "row 4"],
      prepared: [1, 2, 3],
      error: "42703",
      after: 1,
    });
  },
});

Deno.test({
  name: named("asyncpg reads and sends types in binary, and has cursors", HAS_ASYNCPG),
  ignore: !HAS_ASYNCPG,
  fn: async () => {
    assert.deepEqual(await asked("asyncpg"), {
      binary: TYPED,
      found: ["row 1", "row 2", "row 3", "row 4"],
      back: [
        ...["1.25", 86_402, "00112233-4455-6677-8899-aabbccddeeff", "00ff", "2024-02-29"],
        "2024-02-29T01:02:03",
      ],
      lists: [
        ...[[1, null], [2], ["1.50"], [0.5], [true], ["2024-02-29"], [86_400], ["x"]],
        ...["[[1],[]]", [3], ["00112233-4455-6677-8899-aabbccddeeff"]],
      ],
      sum: "3.5",
      cursor: [[0, 1, 2], [3, 4, 5], [6]],
      error: "42703",
    });
  },
});

/** What SQLAlchemy finds. */
const REFLECTED = {
  schema: "svc",
  has: [true, false],
  tables: true,
  columns: [
    ["timestamp", "TIMESTAMP", false, "event time"],
    ["timestamp_ns", "BIGINT", false, "event time, exact Unix nanoseconds"],
    ["host", "TEXT", false, "host.name, else unknown"],
    ["source", "TEXT", false, "service.name, else scope, else otel"],
    ["sourcetype", "TEXT", false, "kind of source"],
    ["index", "TEXT", false, "logical index, else main"],
    ["raw", "TEXT", false, "log body"],
    ["attributes", "TEXT", true, "remaining attributes, JSON object"],
  ],
  keys: [[], [], [], [], []],
  found: ["row 1", "row 3"],
  counted: [5, "2023-11-14T22:13:24+00:00"],
  streamed: [0, 1, 2, 3, 4, 5, 6],
  error: "42703",
  after: 2,
};

/** By a driver that names types of parameters, and by one that leaves them open. */
for (const client of ["sqlalchemy", "pg8000"]) {
  const isThere = HAS_SQLALCHEMY && await hasPackages([client]);
  Deno.test({
    name: named(`SQLAlchemy reflects, asks and streams by a cursor (${client})`, isThere),
    ignore: !isThere,
    fn: async () => {
      assert.deepEqual(await asked(client), REFLECTED);
    },
  });
}

Deno.test({
  name: `psql asks, copies, browses and points at errors${HAS_PSQL ? "" : " (ignored: no psql)"}`,
  ignore: !HAS_PSQL,
  fn: async () => {
    await using lab = await labOfRows();
    await using server = await startLabServer(lab, ["--pg-listen", "127.0.0.1:0"]);
    const psql = async (input: string) => {
      const child = new Deno.Command("psql", {
        args: ["-X", "-A", "-h", "127.0.0.1", "-p", String(server.server.pgAddress?.port), "svc"],
        env: { PGUSER: "u", LC_ALL: "C" },
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(input));
      await writer.close();
      const { stdout, stderr } = await child.output();
      const decoder = new TextDecoder();
      return { printed: decoder.decode(stdout), told: decoder.decode(stderr) };
    };
    const { printed, told } = await psql([
      "SELECT count(*) AS n, NULL AS nothing FROM events;",
      "\\copy (SELECT raw FROM events ORDER BY raw LIMIT 2) TO STDOUT csv header",
      "SELECT raw,\n  nope FROM events;",
      "BEGIN; SELECT 1 AS one; COMMIT;",
      "",
    ].join("\n"));
    assert.equal(
      printed,
      "n|nothing\n5|\n(1 row)\nraw\nrow 0\nrow 1\nBEGIN\none\n1\n(1 row)\nCOMMIT\n",
    );
    assert.match(told, /^ERROR: .*"nope" not found/m);
    assert.match(told, /^LINE 2: {3}nope FROM events;\n {10}\^/m);
    const browsed = await psql("\\dt\n\\d events\nSELECT 1 AS a, [2] AS b \\gdesc\n");
    assert.equal(browsed.told, "");
    assert.match(browsed.printed, /^svc\|events\|table\|u\nsvc\|query_audit\|/m);
    assert.match(browsed.printed, /^timestamp\|timestamp with time zone\|\|not null\|$/m);
    assert.match(browsed.printed, /^attributes\|text\|\|\|$/m);
    assert.match(browsed.printed, /^a\|integer\nb\|integer\[\]$/m);
    const all = await psql(BROWSING.split(/\s+/).map((command) => `${command}\n`).join(""));
    assert.doesNotMatch(all.told, /ERROR|error/);
  },
});

/** Commands of psql that look around. Newer versions have more columns, and the same relations. */
const BROWSING = String
  .raw`\d \d+ \dA \dA+ \dAc+ \dAf+ \dAo+ \dAp+ \da+ \db+ \dC+ \dc+ \dD \dd \ddp
  \dE+ \det+ \dew+ \des+ \deu+ \dF+ \dFd+ \dFp+ \dFt+ \df+ \dg+ \di+ \dL+ \dl+ \dm+ \dn+ \dO+ \do+
  \dP+ \dPn \dp \drds \dRp+ \dRs+ \ds+ \dT+ \dt+ \du+ \dv+ \dX+ \dx+ \dy+ \l+ \z \dtS+ \dconfig+`;
