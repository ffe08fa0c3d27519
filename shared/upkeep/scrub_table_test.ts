import assert from "node:assert/strict";
import { present } from "../base/assert.ts";
import { keyOfMetadata } from "../iceberg/locations.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { commitDeletes } from "../testing/foreign_deletes.ts";
import { MaintenanceLab } from "../testing/maintenance_lab.ts";
import { EVENTS } from "../testing/table_lab.ts";
import { nextScrub, paced } from "./scrub_loop.ts";
import {
  type ScrubbedFile,
  type ScrubbedTable,
  type ScrubDeps,
  type ScrubOptions,
  scrubTable,
} from "./scrub_table.ts";

const START_NS = BigInt(Date.UTC(2026, 10, 20, 6)) * 1_000_000n;
const NEVER = new AbortController().signal;

async function labOf(appends: number): Promise<MaintenanceLab> {
  const lab = await MaintenanceLab.open(1);
  for (let at = 0; at < appends; at += 1) {
    await lab.append(
      Array.from({ length: 10 }, (_, row) => ({
        number: 10 * at + row,
        ns: START_NS + BigInt(10 * at + row) * 1_000_000_000n,
      })),
    );
  }
  return lab;
}

async function scrub(
  lab: MaintenanceLab,
  options: Partial<ScrubOptions> & { readonly copies?: ScrubDeps["copies"] } = {},
): Promise<{ readonly table: ScrubbedTable; readonly files: readonly ScrubbedFile[] }> {
  const { copies, ...rest } = options;
  const files: ScrubbedFile[] = [];
  const deps = {
    ...lab.deps(),
    scrubs: lab.kept.scrubs,
    ...(copies === undefined ? {} : { copies }),
  };
  const onFile = (file: ScrubbedFile) => void files.push(file);
  const table = await scrubTable(deps, EVENTS, { signal: NEVER, onFile, ...rest });
  return { table: present(table), files };
}

/** Flips one bit in the middle of the object. */
async function flip(lab: MaintenanceLab, key: string): Promise<Uint8Array> {
  const bytes = await lab.store.get(key);
  const flipped = bytes.slice();
  flipped[flipped.length >> 1] = (flipped[flipped.length >> 1] ?? 0) ^ 4;
  await lab.store.delete([key]);
  await lab.store.putNew(key, flipped);
  return bytes;
}

Deno.test({
  name: "scrubTable reads every file of the table and finds a whole one whole",
  async fn() {
    await using lab = await labOf(3);
    const { table, files } = await scrub(lab);
    assert.deepEqual(files.map(({ key }) => key), await lab.keys());
    assert.ok(files.every(({ outcome }) => outcome === "intact"));
    assert.deepEqual([table.damaged, table.unsummed, table.repaired], [[], 0, 0]);
    assert.equal(table.bytes, files.reduce((sum, { byteLength }) => sum + byteLength, 0));
    assert.equal(table.wholeMs, table.beganMs);
  },
});

Deno.test({
  name: "scrubTable a flipped bit in any file is found, noted, and forgotten once it is whole",
  async fn() {
    await using lab = await labOf(2);
    for (const key of await lab.keys()) {
      // Statements do not depend on former metadata, but another engine may.
      const bytes = await flip(lab, key);
      const { table, files } = await scrub(lab);
      const isSidecar = key.endsWith(".puffin");
      const current = await currentMetadata(lab);
      if (isSidecar) {
        assert.equal(table.repaired, 1, "a sidecar is made anew");
        assert.deepEqual(table.damaged, []);
        continue;
      }
      const noted = table.damaged.map((one) => one.key);
      assert.ok(noted.includes(key), `${key} is noted`);
      if (key !== current) assert.deepEqual(noted, [key]);
      assert.equal(files.filter(({ outcome }) => outcome === "damaged").length, noted.length);
      await lab.store.delete([key]);
      await lab.store.putNew(key, bytes);
      assert.deepEqual((await scrub(lab)).table.damaged, []);
    }
  },
});

Deno.test({
  name: "scrubTable a data file that is not there is damage, until no snapshot names it",
  async fn() {
    await using lab = await labOf(2);
    const [file] = await lab.files();
    const { key } = present(file);
    const bytes = await lab.store.get(key);
    await lab.store.delete([key]);
    const { table } = await scrub(lab);
    assert.deepEqual(table.damaged.map((one) => [one.key, one.damage]), [[key, "it is not there"]]);
    await lab.store.putNew(key, bytes);
    assert.deepEqual((await scrub(lab)).table.damaged, []);
  },
});

Deno.test({
  name: "scrubTable metadata, a list or a manifest that is not there is damage, and is repaired",
  async fn() {
    await using lab = await labOf(2);
    const former = /\/0000[01]-[^/]*\.metadata\.json$/;
    const keys = (await lab.keys()).filter((key) => /\/metadata\//.test(key) && !former.test(key));
    assert.equal(keys.length, 5, "metadata, and list and manifest of two snapshots");
    const kept = new Map<string, Uint8Array>();
    for (const key of keys) kept.set(key, await lab.store.get(key));
    const copies = {
      async *copiesOf(key: string) {
        yield* await Promise.resolve([present(kept.get(key))]);
      },
    };
    for (const key of keys) {
      await lab.store.delete([key]);
      const { table } = await scrub(lab);
      const missing = table.damaged.map((one) => [one.key, one.damage]);
      assert.deepEqual(missing, [[key, "it is not there"]]);
      const { table: repaired } = await scrub(lab, { copies });
      assert.deepEqual([repaired.repaired, repaired.damaged], [1, []]);
      assert.deepEqual(await lab.store.get(key), kept.get(key));
    }
    await lab.store.delete(keys);
    assert.equal((await scrub(lab, { copies })).table.repaired, keys.length);
    assert.equal((await lab.rows()).length, 20);
  },
});

Deno.test({
  name: "scrubTable repairs by a second copy that is whole, and by no other",
  async fn() {
    await using lab = await labOf(1);
    const [file] = await lab.files();
    const { key } = present(file);
    const whole = await flip(lab, key);
    const copies = (...all: Uint8Array[]) => ({
      async *copiesOf(asked: string) {
        if (asked === key) yield* await Promise.resolve(all);
      },
    });
    const damaged = await lab.store.get(key);
    const first = await scrub(lab, { copies: copies(damaged, whole.subarray(1)) });
    assert.deepEqual(first.table.damaged.map((one) => one.key), [key]);
    const second = await scrub(lab, { copies: copies(damaged, whole) });
    assert.deepEqual([second.table.damaged, second.table.repaired], [[], 1]);
    assert.deepEqual(await lab.store.get(key), whole);

    await lab.store.delete([key]);
    assert.equal((await scrub(lab, { copies: copies(whole) })).table.repaired, 1, "missing");
    assert.equal((await lab.rows()).length, 10);
  },
});

Deno.test({
  name: "scrubTable leaves damaged files alone that nothing names",
  async fn() {
    await using lab = await labOf(1);
    const [file] = await lab.files();
    const { key } = present(file);
    const orphan = key.replace(/[0-9a-f]{8}-/, "00000000-");
    await lab.store.putNew(orphan, await lab.store.get(key));
    await flip(lab, orphan);
    const { table, files } = await scrub(lab);
    assert.deepEqual(table.damaged, []);
    assert.ok(files.every((one) => one.key !== orphan));
    await lab.store.head(orphan);
  },
});

Deno.test({
  name: "scrubTable goes on where it was stopped, wherever that was",
  async fn() {
    await using lab = await labOf(2);
    const all = await lab.keys();
    const seen: string[] = [];
    let stops = 0;
    for (let isOver = false; !isOver;) {
      const stop = new AbortController();
      let read = 0;
      try {
        await scrub(lab, {
          signal: stop.signal,
          onFile({ key }) {
            seen.push(key);
            lab.clock.shift(10_000);
            read += 1;
            if (read === 3) stop.abort(new Error("stopped"));
          },
        });
        isOver = true;
      } catch (error) {
        assert.match(String(error), /stopped/);
        stops += 1;
      }
    }
    assert.ok(stops > 1);
    assert.deepEqual(seen, all, "each file once");
    const passes = await lab.kept.scrubs.passes();
    assert.equal([...passes.values()][0]?.files, all.length);
  },
});

Deno.test({
  name: "scrubTable that goes on finds what is not there any more of what it had read before",
  async fn() {
    await using lab = await labOf(2);
    const [file] = await lab.files();
    const { key } = present(file);
    const stop = new AbortController();
    const stopped = scrub(lab, {
      signal: stop.signal,
      onFile() {
        lab.clock.shift(10_000);
        stop.abort(new Error("stopped"));
      },
    });
    await assert.rejects(stopped, /stopped/);
    const [pass] = (await lab.kept.scrubs.passes()).values();
    assert.equal(pass?.cursor, key, "it is the first of all");
    await lab.store.delete([key]);
    const { table } = await scrub(lab);
    assert.deepEqual(table.damaged.map((one) => [one.key, one.damage]), [[key, "it is not there"]]);
  },
});

Deno.test({
  name: "nextScrub takes what was begun, then what never was, then the oldest that is due",
  fn() {
    const table = (name: string, pass?: { beganMs: number; cursor?: string }) => ({
      ident: { namespace: "svc", name },
      folder: name,
      pass: pass && {
        ...{ cursor: undefined, files: 0, bytes: 0, unsummed: 0, wholeMs: undefined },
        ...pass,
      },
    });
    const next = (...tables: ReturnType<typeof table>[]) =>
      nextScrub(tables, { nowMs: 1_000, periodMs: 700 })?.folder;
    const [begun, fresh] = [table("begun", { beganMs: 990, cursor: "k" }), table("fresh")];
    const [old, older] = [table("old", { beganMs: 390 }), table("older", { beganMs: 300 })];
    const done = table("done", { beganMs: 401 });
    assert.equal(next(old, fresh, begun, older), "begun");
    assert.equal(next(old, older, fresh), "fresh");
    assert.equal(next(done, old, older), "older");
    assert.equal(next(done), undefined);
  },
});

Deno.test({
  name: "paced lets no more bytes pass than the rate, however they are cut",
  async fn() {
    const clock = new FakeClock();
    const pace = paced(clock, { bytesPerSec: 1_000, signal: NEVER });
    let passed = 0;
    let isOver = false;
    const reading = (async () => {
      for (const bytes of [500, 1_500, 1, 2_000, 400]) {
        await pace(bytes);
        passed += bytes;
      }
      isOver = true;
    })();
    const startMs = clock.monotonicMs();
    while (!isOver) {
      await clock.advance(100);
      const secs = (clock.monotonicMs() - startMs) / 1_000;
      // A piece may pass before its time is over: that is the next one's.
      assert.ok(passed <= 1_000 * secs + 2_000, `${passed} bytes in ${secs} s`);
    }
    await reading;
    assert.ok(clock.monotonicMs() - startMs >= 3_900);
    const stop = new AbortController();
    stop.abort(new Error("stopped"));
    await assert.rejects(paced(clock, { bytesPerSec: 1, signal: stop.signal })(1), /stopped/);
  },
});

async function currentMetadata(lab: MaintenanceLab): Promise<string> {
  const location = present(await lab.catalog.metadataLocation(EVENTS));
  return keyOfMetadata(lab.store.rootUri, location);
}

Deno.test({
  name: "scrubTable goes through a table from which another engine deleted rows, and repairs it",
  async fn() {
    await using lab = await labOf(2);
    const [touched] = await lab.files();
    const { key, location, day } = present(touched);
    await commitDeletes(lab.deps(), EVENTS, [
      { kind: "position", day, rows: [{ location, place: 1 }] },
    ]);
    assert.deepEqual((await scrub(lab)).table.damaged, []);
    const bytes = await flip(lab, key);
    assert.deepEqual((await scrub(lab)).table.damaged.map((one) => one.key), [key]);
    // Deletes of a damaged file cannot be applied, so scrubbing must not wait for that.
    const copies = {
      async *copiesOf(asked: string) {
        if (asked === key) yield await Promise.resolve(bytes);
      },
    };
    const { table } = await scrub(lab, { copies });
    assert.deepEqual([table.repaired, table.damaged], [1, []]);
    await lab.store.delete([key]);
    const gone = (await scrub(lab)).table.damaged;
    assert.deepEqual(gone.map((one) => [one.key, one.damage]), [[key, "it is not there"]]);
  },
});
