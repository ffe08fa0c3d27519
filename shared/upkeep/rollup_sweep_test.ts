/**
 * Roll-ups: made, used by a server that has just begun, followed by what the table becomes, and
 * harmless when damaged.
 */

import assert from "node:assert/strict";
import { folderOfRollup, readRollup } from "../derived/summary/rollup.ts";
import { sidecarKey } from "../derived/sidecar.ts";
import { IcebergReader } from "../iceberg/iceberg_reader.ts";
import { EngineLab, type LabEvent } from "../testing/engine_lab.ts";
import { EVENTS } from "../testing/table_lab.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { lookForOrphans, type OrphanDeps } from "./orphans.ts";
import { ROLLED_FILES_MIN, sweepRollups } from "./rollup_sweep.ts";
import { RemoteStore } from "../testing/remote_store.ts";

const START_NS = 1_790_000_040_000_000_000n;

function rows(first: number, count = 12): LabEvent[] {
  return Array.from({ length: count }, (_, n) => ({
    ns: START_NS + BigInt(first * 7 + n) * 20_000_000_000n,
    host: `web-${(first + n) % 5}`,
    raw: `row ${n}`,
  }));
}

const STATEMENTS = [
  "SELECT host, count(*) FROM events GROUP BY host ORDER BY host",
  "SELECT host, source, count(*) FROM events GROUP BY ALL ORDER BY ALL",
  "SELECT date_trunc('minute', timestamp) AS t, count(*) FROM events GROUP BY t ORDER BY t",
  "SELECT date_trunc('hour', timestamp) AS t, host, count(*) FROM events GROUP BY ALL ORDER BY ALL",
  "SELECT host, min(timestamp), max(timestamp) FROM events GROUP BY host ORDER BY host",
  "SELECT min(timestamp_ns), max(timestamp_ns) FROM events",
];

async function open(): Promise<{ lab: EngineLab; store: RemoteStore }> {
  const store = new RemoteStore();
  return { lab: await EngineLab.open({ store }), store };
}

async function tableOf({ store, catalog }: EngineLab) {
  const reader = new IcebergReader(store);
  const table = await reader.loadTable(EVENTS, await catalog.metadataLocation(EVENTS) ?? "");
  const { files } = await reader.selectFiles(table);
  return { table, files };
}

async function rollupsOf(lab: EngineLab): Promise<string[]> {
  const { table } = await tableOf(lab);
  return (await Array.fromAsync(lab.store.list(`${table.locationKey}/rollups/`)))
    .map(({ key }) => key);
}

/** Answers of an engine that knows nothing, and how many sidecars it read. */
async function cold(lab: EngineLab, store: RemoteStore) {
  await lab.restartEngine();
  store.reads.length = 0;
  const answers: string[][] = [];
  for (const sql of STATEMENTS) {
    const { texts, stats } = await lab.query(sql);
    assert.match(stats.served_by, /^tier1_/, sql);
    answers.push([...texts]);
  }
  const sidecars = store.reads.filter(({ key }) => key.includes("/derived/"));
  return { answers, sidecars: new Set(sidecars.map(({ key }) => key)).size };
}

async function scanned(lab: EngineLab): Promise<string[][]> {
  const answers: string[][] = [];
  for (const sql of STATEMENTS) {
    answers.push([...(await lab.query(sql, { fastPaths: false })).texts]);
  }
  return answers;
}

Deno.test("a server that has just begun reads one roll-up a day, and the files that it lacks", async () => {
  const { lab, store } = await open();
  await using _lab = lab;
  for (let n = 0; n < 10; n += 1) await lab.commit(rows(n), { derived: true });
  assert.equal((await cold(lab, store)).sidecars, 10);
  const report = await sweepRollups(lab, await tableOf(lab));
  assert.deepEqual(report, { made: 1, removed: 0, waiting: 0 });
  const rolled = (await tableOf(lab)).files.map(({ key }) => key);
  const truth = await scanned(lab);
  assert.deepEqual(await cold(lab, store), { answers: truth, sidecars: 0 });
  assert.equal((await sweepRollups(lab, await tableOf(lab))).made, 0, "nothing is left to do");

  await lab.commit(rows(20), { derived: true });
  assert.deepEqual(await cold(lab, store), { answers: await scanned(lab), sidecars: 1 });

  // It still stands for files whose own summaries are gone.
  const { files } = await tableOf(lab);
  const [newest] = files.map(({ key }) => key).filter((key) => !rolled.includes(key));
  assert(newest !== undefined);
  await store.delete(rolled.map(sidecarKey));
  assert.deepEqual(await cold(lab, store), { answers: await scanned(lab), sidecars: 1 });
});

Deno.test("a roll-up that is damaged, cut or of another table costs time, and is made anew when it is looked at", async () => {
  const { lab, store } = await open();
  await using _lab = lab;
  for (let n = 0; n < ROLLED_FILES_MIN; n += 1) await lab.commit(rows(n), { derived: true });
  await sweepRollups(lab, await tableOf(lab));
  const [key] = await rollupsOf(lab);
  assert(key !== undefined && folderOfRollup(key) !== undefined);
  const bytes = await store.get(key);
  const truth = await scanned(lab);
  const { files } = await readRollup(store, key);
  assert.equal(files.length, ROLLED_FILES_MIN);
  const damages = [
    bytes.subarray(0, bytes.byteLength >> 1),
    new Uint8Array(0),
    ...Array.from({ length: 4 }, (_, n) => {
      const flipped = bytes.slice();
      const at = Math.floor((n + 0.5) / 4 * bytes.byteLength);
      flipped[at] = (flipped[at] as number) ^ 4;
      return flipped;
    }),
  ];
  for (const damage of damages) {
    await store.delete([key]);
    await store.putNew(key, damage);
    assert.deepEqual((await cold(lab, store)).answers, truth);
    const keys = await rollupsOf(lab);
    const { made } = await sweepRollups(lab, await tableOf(lab), { checks: true });
    assert.equal(made, 1);
    await store.delete((await rollupsOf(lab)).filter((own) => !keys.includes(own)));
  }
});

Deno.test("a roll-up goes ten minutes after the next one is made, or with its day, and is no orphan before", async () => {
  const { lab, store } = await open();
  await using _lab = lab;
  const clock = new FakeClock();
  const sweep = async () => await sweepRollups({ ...lab, store, clock }, await tableOf(lab));
  for (let n = 0; n < ROLLED_FILES_MIN; n += 1) await lab.commit(rows(n), { derived: true });
  assert.deepEqual(await sweep(), { made: 1, removed: 0, waiting: 0 });
  for (let n = 0; n <= ROLLED_FILES_MIN; n += 1) await lab.commit(rows(20 + n), { derived: true });
  assert.deepEqual(await sweep(), { made: 1, removed: 0, waiting: 1 });
  await clock.advance(599_000);
  assert.deepEqual(await sweep(), { made: 0, removed: 0, waiting: 1 });
  await clock.advance(2_000);
  assert.deepEqual(await sweep(), { made: 0, removed: 1, waiting: 0 });

  const [kept] = await rollupsOf(lab);
  assert(kept !== undefined);
  const gone = kept.replace(/rollups\/[\d-]+\//, "rollups/1999-01-01/");
  const strange = kept.replace(/[^/]+$/, "strange");
  for (const key of [gone, strange]) await store.putNew(key, new Uint8Array(1));
  const removals = {
    entered: () => Promise.resolve(new Set<string>()),
    due: () => Promise.resolve([]),
  };
  const deps = { ...lab, store, catalog: lab.catalog, removals } as unknown as OrphanDeps;
  const plan = await lookForOrphans(deps, EVENTS, { ageMsMin: -60_000 });
  const orphans = plan?.orphans.map(({ key }) => key) ?? [];
  assert.deepEqual(
    orphans.filter((key) => key.includes("/rollups/")).sort(),
    [gone, strange].sort(),
  );
  assert.deepEqual(await sweep(), { made: 0, removed: 1, waiting: 0 });
  assert.deepEqual(await rollupsOf(lab), [kept, strange]);
});
