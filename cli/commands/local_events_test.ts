/** `ingest`, `query`, `sql-direct` and `iceberg-demo` on a data directory, in this process. */

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { MEAN_STEP_MS, syntheticEvents, toNdjson } from "../synthetic_events.ts";
import { type RecordedRun, runRecorded } from "../recorded_run.ts";

class DataDir implements AsyncDisposable {
  private constructor(readonly path: string) {}

  static async make(): Promise<DataDir> {
    return new DataDir(await Deno.makeTempDir({ prefix: "svc-cli-" }));
  }

  run(name: string, args: readonly string[], input = ""): Promise<RecordedRun> {
    return runRecorded(this.path, name, args, input);
  }

  /** Rows as objects. */
  async query(sql: string): Promise<Record<string, unknown>[]> {
    const { status, output, notes } = await this.run("query", ["--sql", sql, "--format", "ndjson"]);
    assert.equal(status, 0, notes);
    return output.trimEnd().split("\n").filter((line) => line !== "").map((line) =>
      JSON.parse(line)
    );
  }

  async dataFiles(folder = `${this.path}/warehouse`): Promise<string[]> {
    const found: string[] = [];
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      if (isDirectory) found.push(...await this.dataFiles(`${folder}/${name}`));
      else if (name.endsWith(".parquet")) found.push(name);
    }
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

/** Events of one hour and more, over midnight UTC. */
function synthetic(count: number): { lines: string[]; services: Map<string, number> } {
  const events = syntheticEvents({ seed: 42, firstNs: 1_795_219_200_000_000_000n - 10n ** 12n });
  const services = new Map<string, number>();
  const lines: string[] = [];
  for (let made = 0; made < count; made++) {
    const event = events.next().value;
    services.set(event.service, (services.get(event.service) ?? 0) + 1);
    lines.push(toNdjson(event));
  }
  assert.ok(count * MEAN_STEP_MS > 1_000_000, "they reach past midnight");
  return { lines, services };
}

Deno.test({
  name: "ingest commits each line of stdin once, and query counts them",
  fn: async () => {
    await using data = await DataDir.make();
    const { lines, services } = synthetic(12_000);
    const ingested = await data.run("ingest", [], `${lines.join("\n")}\n\n`);
    assert.deepEqual(ingested, { status: 0, output: "", notes: "ingested 12,000 events\n" });
    const counted = await data.query("SELECT source, count(*) AS n FROM events GROUP BY source");
    assert.deepEqual(new Map(counted.map((row) => [row["source"], row["n"]])), services);
    const [span] = await data.query(
      "SELECT count(DISTINCT attr_get(attributes, 'trace_id')) AS ids, " +
        "count(DISTINCT CAST(timestamp AS DATE)) AS days FROM events",
    );
    assert.deepEqual(span, { ids: 12_000, days: 2 });
  },
});

Deno.test({
  name: "ingest takes none of the lines when one is bad, names it, and leaves no file",
  fn: async () => {
    await using data = await DataDir.make();
    const { lines } = synthetic(12_000);
    const path = `${data.path}/events.ndjson`;
    await Deno.writeTextFile(path, [...lines, `{"timestamp":"noon"}`].join("\n"));
    const refused = await data.run("ingest", ["--input", path]);
    assert.equal(refused.status, 1);
    assert.match(refused.notes, /^svc: Line 12001: .*"noon".* Nothing was ingested\n$/);
    assert.deepEqual(await data.query("SELECT count(*) AS n FROM events"), [{ n: 0 }]);
    assert.deepEqual(await data.dataFiles(), []);
    const good = await data.run("ingest", [], `{"message":"one"}`);
    assert.equal(good.status, 0, good.notes);
    assert.deepEqual(await data.query("SELECT raw FROM events"), [{ raw: "one" }]);
  },
});

Deno.test({
  name: "ingest names an input that cannot be read and bytes that are no text",
  fn: async () => {
    await using data = await DataDir.make();
    const missing = await data.run("ingest", ["--input", `${data.path}/none`]);
    assert.equal(missing.status, 1);
    assert.match(missing.notes, /^svc: Cannot read --input .*\/none/);
    const path = `${data.path}/bytes`;
    await Deno.writeFile(path, new Uint8Array([0x7b, 0xff, 0x0a]));
    const binary = await data.run("ingest", ["--input", path]);
    assert.equal(binary.status, 1);
    assert.match(binary.notes, /^svc: Cannot read the input as UTF-8/);
  },
});

Deno.test({
  name: "query prints a table, cuts at --max-rows with a note, and refuses bad SQL",
  fn: async () => {
    await using data = await DataDir.make();
    await data.run("ingest", [], `{"message":"a","host":"h1"}\n{"message":"b","host":"h2"}`);
    const sql = ["--sql", "SELECT host, raw FROM events ORDER BY raw"];
    const whole = await data.run("query", sql);
    assert.equal(whole.output, "host | raw\n-----+----\nh1   | a\nh2   | b\n(2 rows)\n");
    assert.equal(whole.notes, "");
    for (const format of ["table", "ndjson"]) {
      const cut = await data.run("query", [...sql, "--max-rows", "1", "--format", format]);
      assert.ok(cut.output.includes("h1") && !cut.output.includes("h2"), cut.output);
      assert.match(cut.notes, /only the first row is shown: raise --max-rows/);
    }
    const file = await data.run("query", ["--sql", "SELECT * FROM read_csv('/etc/passwd')"]);
    assert.equal(file.status, 1);
    assert.match(file.notes, /^svc: .*read_csv/);
    const absent = await data.run("query", []);
    assert.equal(absent.status, 2);
    assert.match(absent.notes, /without --sql/);
  },
});

Deno.test({
  name: "query and sql-direct refuse a place that is not there, and one without a table",
  fn: async () => {
    await using data = await DataDir.make();
    const sql = "SELECT count(*) FROM events";
    const here = resolve(data.path);
    const asked = async (name: string, args: readonly string[], dataDir = data.path) => {
      const { status, output, notes } = await runRecorded(dataDir, name, args);
      assert.deepEqual([status, output], [1, ""], notes);
      return notes;
    };
    const nowhere = `${data.path}/none`;
    assert.equal(
      await asked("query", ["--sql", sql], nowhere),
      `svc: Cannot query ${resolve(nowhere)}: there is no such folder. ` +
        "Ingest there first, or name the folder that was ingested into with --data-dir\n",
    );
    assert.match(
      await asked("sql-direct", ["--query", sql], nowhere),
      /Cannot query .*\/none\/warehouse: there is no such folder\. Name the warehouse with --data-dir, /,
    );
    assert.equal(await Deno.stat(nowhere).catch((error) => error.name), "NotFound");

    assert.ok(
      (await asked("query", ["--sql", sql])).startsWith(
        `svc: Cannot query ${here}: it holds no table of the namespace svc, and no row waits in its WAL. `,
      ),
    );
    await data.run("ingest", [], `{"message":"one"}`);
    assert.deepEqual(await data.query("SELECT count(*) AS n FROM traces"), [{ n: 0 }]);
    const other = ["--tenant-namespace", "acme"];
    const namespaces =
      /no table of the namespace acme.*; it has svc: choose with --tenant-namespace\./;
    assert.match(await asked("query", ["--sql", sql, ...other]), namespaces);
    assert.match(await asked("sql-direct", ["--query", sql, ...other]), namespaces);
  },
});

Deno.test({
  name: "iceberg-demo appends what was asked, shows it, and sql-direct finds it by --warehouse",
  fn: async () => {
    await using data = await DataDir.make();
    const demo = await data.run("iceberg-demo", ["--n", "250", "--warehouse", "demo"]);
    assert.equal(demo.status, 0, demo.notes);
    assert.match(demo.output, /^Appended 250 events [^]*\n {3}250 \| /);
    const more = await data.run("iceberg-demo", ["--n", "50", "--warehouse", "demo"]);
    assert.match(more.output, /\n {3}300 \| /);
    const direct = async () => {
      const sql = "SELECT count(*) AS n FROM events";
      const args = ["--warehouse", "demo", "--format", "ndjson", "--query", sql];
      return (await data.run("sql-direct", args)).output;
    };
    assert.equal(await direct(), `{"n":300}\n`);
    const reset = await data.run("iceberg-demo", ["--n", "5", "--warehouse", "demo", "--reset"]);
    assert.equal(reset.status, 0, reset.notes);
    assert.equal(await direct(), `{"n":5}\n`);
  },
});

Deno.test({
  name: "iceberg-demo --reset refuses a folder that is no warehouse",
  fn: async () => {
    await using data = await DataDir.make();
    await Deno.writeTextFile(`${data.path}/precious`, "kept");
    const reset = await data.run("iceberg-demo", ["--warehouse", data.path, "--reset"]);
    assert.equal(reset.status, 1);
    assert.match(reset.notes, /^svc: Cannot reset .* it holds no catalog/);
    assert.equal(await Deno.readTextFile(`${data.path}/precious`), "kept");
  },
});
