/**
 * `svc rebuild-group-counts` and `rebuild-time-aggregates`: what they mend, say, and leave alone.
 */

import assert from "node:assert/strict";
import { eventLines, runRecorded } from "../recorded_run.ts";

const GROUPS = "SELECT source, count(*) AS n FROM events GROUP BY source ORDER BY source";
const EVENTS = 400;

Deno.test("rebuild-group-counts makes missing and damaged summaries anew, and repeats without a change", async () => {
  await withEvents(async (dataDir) => {
    const before = await ask(dataDir, GROUPS);
    assert.match(before, /^tier1_inline/);
    const whole = await sidecars(dataDir);
    assert.ok(whole.length >= 1);
    const [gone, ...others] = whole;
    assert(gone !== undefined);
    await Deno.remove(gone);
    for (const path of others) await damage(path);

    const broken = await ask(dataDir, GROUPS);
    assert.equal(rowsOf(broken), rowsOf(before), "without summaries rows are read");

    const dry = await runRecorded(dataDir, "rebuild-group-counts", [
      "--table",
      "events",
      "--dry-run",
    ]);
    assert.equal(dry.status, 0, dry.notes);
    assert.match(dry.output, /it has none/);
    assert.match(dry.notes, new RegExp(`${whole.length} to rebuild`));
    assert.equal((await sidecars(dataDir)).length, whole.length - 1);

    const rebuilt = await runRecorded(dataDir, "rebuild-group-counts", ["--table", "events"]);
    assert.equal(rebuilt.status, 0, rebuilt.notes);
    assert.match(rebuilt.notes, new RegExp(`${whole.length} rebuilt`));
    assert.equal(await ask(dataDir, GROUPS), before);

    for (const name of ["rebuild-group-counts", "rebuild-time-aggregates"]) {
      const again = await runRecorded(dataDir, name, ["--table", "events"]);
      assert.deepEqual([again.status, again.output], [0, ""]);
      assert.match(again.notes, /0 rebuilt/);
    }
  });
});

Deno.test("rebuild-time-aggregates mends counts by minute; neither command knows a table that is not there", async () => {
  await withEvents(async (dataDir) => {
    const histogram = "SELECT date_trunc('minute', timestamp) AS t, count(*) AS n FROM events " +
      "GROUP BY t ORDER BY t";
    const before = await ask(dataDir, histogram);
    assert.match(before, /^tier1_windowed_agg/);
    for (const path of await sidecars(dataDir)) await Deno.remove(path);
    const rebuilt = await runRecorded(dataDir, "rebuild-time-aggregates", ["--table", "events"]);
    assert.equal(rebuilt.status, 0, rebuilt.notes);
    assert.equal(await ask(dataDir, histogram), before);
    for (const name of ["rebuild-group-counts", "rebuild-time-aggregates"]) {
      const unknown = await runRecorded(dataDir, name, ["--table", "nope"]);
      assert.equal(unknown.status, 1);
      assert.match(unknown.notes, /Cannot rebuild summaries of table svc\.nope: there is none/);
    }
  });
});

Deno.test("rebuild-group-counts --admit-typed-columns counts what has too many values for the usual summary", async () => {
  await withEvents(async (dataDir) => {
    const plain = await runRecorded(dataDir, "rebuild-group-counts", ["--table", "events"]);
    assert.match(plain.notes, /0 rebuilt/);
    // The built-in table has no typed column of its own: nothing is lacking.
    const wide = await runRecorded(dataDir, "rebuild-group-counts", [
      ...["--table", "events", "--admit-typed-columns"],
    ]);
    assert.deepEqual([wide.status, wide.output], [0, ""]);
  });
});

async function withEvents(use: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "svc-rebuild-" });
  try {
    const lines = eventLines(EVENTS, { seed: 5, firstNs: 1_763_700_000_000_000_000n });
    const ingested = await runRecorded(dataDir, "ingest", [], lines);
    assert.equal(ingested.status, 0, ingested.notes);
    await use(dataDir);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

/** Which path answered, and the rows. */
async function ask(dataDir: string, sql: string): Promise<string> {
  const { status, output, notes } = await runRecorded(dataDir, "sql-direct", ["--query", sql]);
  assert.equal(status, 0, notes);
  const explained = await runRecorded(dataDir, "sql-direct", ["--query", `EXPLAIN ${sql}`]);
  return `${/\b(scan|materialized|tier1_\w+):/.exec(explained.output)?.[1]}\n${output}`;
}

const rowsOf = (answer: string) => answer.slice(answer.indexOf("\n"));

async function sidecars(dir: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(dir)) {
    if (isDirectory) paths.push(...await sidecars(`${dir}/${name}`));
    else if (name.endsWith(".puffin")) paths.push(`${dir}/${name}`);
  }
  return paths.sort();
}

async function damage(path: string): Promise<void> {
  const bytes = await Deno.readFile(path);
  await Deno.writeFile(path, bytes.subarray(0, bytes.length - 9));
}
