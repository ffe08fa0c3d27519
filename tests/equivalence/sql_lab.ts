/**
 * Equal rows twice: in a warehouse and WAL behind a real query server, and as ordinary tables of a
 * DuckDB that this service's code never touched.
 *
 * `events` and `metrics` are drained twice and appended to afterwards: sealed segments that wait,
 * and one still being written. Between the drains `metrics` gains two columns, so its oldest files
 * and segments lack them.
 */

import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import assert from "node:assert/strict";
import { OPTIONS, type QueryServer, startQuery } from "../../query/mod.ts";
import { encodeBatch } from "../../shared/columns/ipc.ts";
import { batchOfRows, type ColumnValue, type RowObject } from "../../shared/columns/rows.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { INLINE_DERIVER } from "../../shared/derived/deriver.ts";
import type { ColumnType, TableSchema } from "../../shared/schema/schema.ts";
import type { TableIdent } from "../../shared/tenant/tenant.ts";
import { commitTable } from "../../shared/iceberg/commit_table.ts";
import { schemaJsonOf } from "../../shared/iceberg/schema_json.ts";
import { stageMetadata } from "../../shared/iceberg/stage_snapshot.ts";
import { drainAll } from "../../shared/drain/drain_all.ts";
import { INLINE_PARQUET_ENCODER } from "../../shared/parquet/parquet_encoder.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import type { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { openWalConsumerAdmin } from "../../shared/wal/admin.ts";
import { openWalReader } from "../../shared/wal/reader.ts";

export const METRICS_SCHEMA: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true },
    { id: 2, name: "timestamp_ns", type: "long", required: true },
    { id: 3, name: "name", type: "string", required: true },
    { id: 4, name: "value", type: "double", required: false },
    { id: 5, name: "hits", type: "long", required: false },
    { id: 6, name: "code", type: "int", required: false },
    { id: 7, name: "ok", type: "bool", required: false },
  ],
  tags: ["name"],
};

export const METRICS_SCHEMA_LATER: TableSchema = {
  columns: [
    ...METRICS_SCHEMA.columns,
    { id: 8, name: "region", type: "string", required: false },
    { id: 9, name: "latency", type: "double", required: false },
  ],
  tags: METRICS_SCHEMA.tags,
};

/** One append to a lane: what it is written with, and what happens next. */
interface Stage {
  readonly events: readonly RowObject[];
  readonly metrics: readonly RowObject[];
  readonly metricsSchema: TableSchema;
  readonly then: "drain" | "drain and alter" | "seal" | "nothing";
}

const ROWS_A_STAGE = 90;
const STAGES: readonly (readonly [schema: TableSchema, then: Stage["then"]])[] = [
  [METRICS_SCHEMA, "drain"],
  [METRICS_SCHEMA, "drain and alter"],
  [METRICS_SCHEMA_LATER, "drain"],
  // A sender that has not heard of the new columns yet.
  [METRICS_SCHEMA, "seal"],
  [METRICS_SCHEMA_LATER, "seal"],
  [METRICS_SCHEMA_LATER, "nothing"],
];

export class SqlLab implements AsyncDisposable {
  private constructor(
    private readonly engineLab: EngineLab,
    private readonly server: QueryServer,
    private readonly instance: DuckDBInstance,
    /** The plain copy. */
    readonly plain: DuckDBConnection,
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.server.address.port}/api/v1/sql`;
  }

  /** The data directory of the server. */
  get dir(): string {
    return this.engineLab.dir;
  }

  static async open(seed: number): Promise<SqlLab> {
    const stages = makeStages(new SeededRandom(seed));
    const lab = await EngineLab.open({ wal: true });
    for (const stage of stages) await applyStage(lab, stage);
    const server = await startQuery(parseOptions(OPTIONS, [
      ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0"],
      ...["--data-dir", lab.dir, "--query-wal-buffer-dir", `${lab.dir}/wal`],
      ...["--threads", "2", "--memory-pool-bytes", String(512 * 2 ** 20), "--audit-disabled"],
    ]));
    const instance = await DuckDBInstance.create(":memory:", { threads: "2" });
    const plain = await instance.connect();
    await plain.run("SET TimeZone = 'UTC'");
    const [events, metrics] = [
      stages.flatMap((stage) => stage.events),
      stages.flatMap((stage) => stage.metrics),
    ];
    await copyRows(plain, "events", { schema: EVENTS_SCHEMA, rows: events });
    await copyRows(plain, "metrics", { schema: METRICS_SCHEMA_LATER, rows: metrics });
    return new SqlLab(lab, server, instance, plain);
  }

  /** Data files and pending WAL files that a statement over `table` reads. */
  async parts(table: string): Promise<{ files: number; delta: number }> {
    await using prepared = await this.engineLab.prepare(`SELECT * FROM ${table}`);
    const [planned] = prepared.tables;
    const { stats } = await this.engineLab.query(`SELECT * FROM ${table}`);
    const files = planned?.files ?? 0;
    return { files, delta: (stats.scan?.files_planned ?? 0) - files };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
    this.plain.closeSync();
    this.instance.closeSync();
    await this.engineLab[Symbol.asyncDispose]();
  }
}

async function applyStage(lab: EngineLab, stage: Stage): Promise<void> {
  assert(lab.wal !== undefined);
  const lanes = [
    ["events", EVENTS_SCHEMA, stage.events],
    ["metrics", stage.metricsSchema, stage.metrics],
  ] as const;
  for (const [index, schema, rows] of lanes) {
    const lane = { tenant: "default", index };
    const known = new Set(schema.columns.map((column) => column.name));
    assert(rows.every((row) => Object.keys(row).every((name) => known.has(name))));
    await lab.wal.append(lane, encodeBatch(batchOfRows(schema, rows)), "auto");
    if (stage.then !== "nothing") await lab.wal.seal(lane);
  }
  if (stage.then === "drain" || stage.then === "drain and alter") await drain(lab);
  if (stage.then === "drain and alter") await addColumns(lab, METRICS_SCHEMA_LATER);
}

/** Drains every lane of the lab, as the compactor does. */
export async function drain(lab: WarehouseLab): Promise<void> {
  const { store, catalog, clock, random, files } = lab;
  const root = `${lab.dir}/wal`;
  const totals = await drainAll({
    ...{ store, catalog, clock, random },
    wal: openWalReader(files, root),
    admin: openWalConsumerAdmin(files, clock, root),
    encoder: INLINE_PARQUET_ENCODER,
    deriver: INLINE_DERIVER,
  });
  assert.deepEqual(totals.failures, []);
}

/** What an index update does to the table: a new schema, the old files as they are. */
export async function addColumns(
  lab: WarehouseLab,
  schema: TableSchema,
  ident: TableIdent = { namespace: "svc", name: "metrics" },
): Promise<void> {
  const { store, catalog, clock, random } = lab;
  const deps = { store, catalog, clock, random };

  const { outcome } = await commitTable(deps, ident, async (table, staging) => {
    assert(table !== undefined);
    const id = table.schemaId + 1;
    const next = {
      ...table.metadata,
      schemas: [...table.metadata.schemas, schemaJsonOf(schema, id)],
      "current-schema-id": id,
      "last-column-id": Math.max(...schema.columns.map((column) => column.id)),
    };
    const staged = await stageMetadata(deps, { table, exists: true }, { next, staging });
    return { ...staged, snapshotId: 0n, consumed: [] };
  });
  assert.equal(outcome, "committed");
}

const PLAIN_TYPES: Readonly<Record<ColumnType, string>> = {
  timestamptz: "TIMESTAMPTZ",
  long: "BIGINT",
  int: "INTEGER",
  double: "DOUBLE",
  bool: "BOOLEAN",
  string: "VARCHAR",
};

async function copyRows(
  plain: DuckDBConnection,
  name: string,
  { schema, rows }: { readonly schema: TableSchema; readonly rows: readonly RowObject[] },
): Promise<void> {
  const columns = schema.columns.map((column) => `"${column.name}" ${PLAIN_TYPES[column.type]}`);
  await plain.run(`CREATE TABLE ${name} (${columns.join(", ")})`);
  const values = rows.map((row) =>
    `(${schema.columns.map(({ name, type }) => literal(row[name] ?? null, type)).join(", ")})`
  );
  await plain.run(`INSERT INTO ${name} VALUES ${values.join(", ")}`);
}

function literal(value: ColumnValue, type: ColumnType): string {
  if (value === null) return "NULL";
  if (type === "timestamptz") return `make_timestamptz(${value})`;
  if (type === "string") return `'${String(value).replaceAll("'", "''")}'`;
  return type === "double" ? `${value}::DOUBLE` : String(value);
}

const START_NS = 1_790_000_000_000_000_000n; // 2026-09-21T14:13:20Z
const HOSTS = ["web-1", "web-2", "db-1", "Zürich", "東京", "", "o'neil", 'quo"te', "emoji-🦕"];
const SOURCETYPES = ["nginx", "app:json", "syslog"];
const RAWS = [
  "GET /index.html 200 12ms",
  "POST /api/v1/orders 500 timeout=30s user=anna",
  'level=error msg="connection refused" retry=3',
  "Überlauf im Puffer: naïve café",
  "数据库连接失败 错误",
  "connection refused by peer\n\tat line 2",
  "100% done _underscore_ \\backslash\\",
  "",
];
const ATTRIBUTES = [
  null,
  "{}",
  '{"user":"anna","status":200,"ratio":0.25}',
  '{"user":"bob","status":500,"tags":["a","b",null],"nested":{"deep":{"x":1}}}',
  '{"http.method":"GET","user":null,"big":9223372036854775807}',
  '{"user":"Žofie","ok":true,"text":"a \\"quoted\\" word"}',
];

function makeStages(random: SeededRandom): readonly Stage[] {
  const below = (bound: number) => Math.floor(random.float() * bound);
  const pick = <T>(values: readonly T[]) => values[below(values.length)] as T;
  const maybe = <T>(value: T) => below(5) === 0 ? null : value;
  let serial = 0;
  // Few distinct instants, so that there are ties in the microsecond and in the nanosecond; three
  // days of them.
  const time = () => {
    const ns = START_NS + BigInt(below(3)) * 86_400_000_000_000n +
      BigInt(below(40)) * 977_000_000_000n + BigInt(below(6)) * 400n;
    return { timestamp: ns / 1_000n, timestamp_ns: ns };
  };
  const event = (): RowObject => ({
    ...time(),
    host: pick(HOSTS),
    source: pick(["shop", "otel", "billing"]),
    sourcetype: pick(SOURCETYPES),
    index: pick(["main", "audit"]),
    raw: below(4) === 0 ? `row ${serial++} took=${below(900)}ms` : pick(RAWS),
    attributes: pick(ATTRIBUTES),
  });
  const metric = (later: boolean): RowObject => ({
    ...time(),
    name: pick(["cpu", "mem", "disk", "net"]),
    value: maybe(below(2_000_000) / 1_000 - 500),
    hits: maybe(pick([0n, 1n, -7n, 9_007_199_254_740_993n, -9_223_372_036_854_775_807n, 42n])),
    code: maybe(pick([200, 404, 500, -2_147_483_647])),
    ok: maybe(below(2) === 0),
    ...(later
      ? { region: maybe(pick(["eu", "us", "日本"])), latency: maybe(below(9_999) / 8) }
      : {}),
  });
  return STAGES.map(([metricsSchema, then]) => ({
    events: Array.from({ length: ROWS_A_STAGE }, event),
    metrics: Array.from(
      { length: ROWS_A_STAGE },
      () => metric(metricsSchema === METRICS_SCHEMA_LATER),
    ),
    metricsSchema,
    then,
  }));
}
