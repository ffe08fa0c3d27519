import assert from "node:assert/strict";
import { present } from "../../base/assert.ts";
import { isLeftOut } from "../../base/damaged_file.ts";
import { isOperatingError } from "../../base/errors.ts";
import { SystemClock } from "../../os/clock.ts";
import { parseFooter } from "../../parquet/footer.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { flipped } from "../../testing/flipped_store.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { MemoryStore } from "../../testing/memory_store.ts";
import type { ObjectStore } from "../../storage/object_store.ts";
import { DAMAGED_MS_MAX } from "../limits.ts";

const START_NS = 1_790_000_000_000_000_000n;
const SUM = "SELECT count(*), sum(length(raw)) FROM events WHERE raw LIKE 'r%'";
const TRACES = "SELECT count(*) FROM traces";

class MovedClock extends SystemClock {
  aheadMs = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + this.aheadMs;
  }
}

/** Three files of ten rows, or of others; one of them can be damaged. */
async function openLab(
  options: {
    readonly skip: boolean;
    readonly store?: ObjectStore;
    readonly rows?: number;
    readonly textOf?: (row: number) => string;
  },
) {
  const { rows: count = 10, textOf = (row) => `r${row}`.padEnd(10, "x") } = options;
  const clock = new MovedClock();
  const seen = { damages: 0 };
  const lab = await EngineLab.open({
    ...(options.store === undefined ? {} : { store: options.store }),
    engine: {
      clock,
      skipDamagedFiles: options.skip,
      onDamagedFile: () => void (seen.damages += 1),
    },
  });
  const keys: string[] = [];
  for (let file = 0; file < 3; file += 1) {
    const rows = Array.from({ length: count }, (_, at) => ({
      ns: START_NS + BigInt(count * file + at) * 1_000_000_000n,
      raw: textOf(count * file + at),
    }));
    await lab.commit(rows, { derived: true });
    for await (const { key } of lab.store.list("")) {
      if (key.endsWith(".parquet") && !keys.includes(key)) keys.push(key);
    }
  }
  const key = present(keys[1]);
  const good = await lab.store.get(key);
  const columns = parseFooter(good, key).rowGroups.flatMap((group) => group.columns);
  const chunk = present(columns.find(({ name }) => name === "raw"));
  const put = async (bytes: Uint8Array) => {
    await lab.store.delete([key]);
    await lab.store.putNew(key, bytes);
  };
  return {
    ...{ lab, clock, seen, key },
    damage: (at: number) => put(flipped(good, { at, bit: 1 })),
    cut: () => put(good.subarray(0, good.byteLength >> 1)),
    remove: () => lab.store.delete([key]),
    restore: () => put(good),
    footerAt: good.byteLength - 20,
    chunkAt: chunk.offset + chunk.byteLength - 3,
  };
}

async function warningsOf(lab: EngineLab, sql: string) {
  await using prepared = await lab.prepare(sql);
  return { exact: prepared.cost.exact, warnings: prepared.cost.warnings };
}

for (const place of ["chunkAt", "footerAt"] as const) {
  Deno.test(`a damaged file fails each statement that needs it, by its name, and no other: ${place}`, async () => {
    await using stack = new AsyncDisposableStack();
    const damaged = await openLab({ skip: false });
    const { lab, key, seen } = damaged;
    stack.use(lab);
    await damaged.damage(damaged[place]);
    for (let time = 0; time < 2; time += 1) {
      await assert.rejects(lab.query(SUM), (error) => {
        assert.ok(isOperatingError(error, "corrupt"));
        assert.deepEqual([error.httpStatus, error.reason], [500, "damaged_file"]);
        assert.equal(error.details?.["file"], key);
        assert.ok(error.message.includes(key));
        return true;
      });
    }
    assert.equal(seen.damages, 1, "it is told once");
    assert.deepEqual((await lab.query(TRACES)).rows, [[0]]);
    // Neither does what reads other files, nor what summaries answer.
    const early = `${SUM} AND timestamp < make_timestamptz(${START_NS / 1_000n + 5_000_000n})`;
    assert.deepEqual((await lab.query(early)).rows, [[5, 50]]);
    await damaged.restore();
    damaged.clock.aheadMs += DAMAGED_MS_MAX;
    assert.deepEqual((await lab.query(SUM)).rows, [[30, 300]]);
    assert.deepEqual(await warningsOf(lab, SUM), { exact: true, warnings: [] });
  });

  Deno.test(`skipDamagedFiles answers without a damaged file, and says so, until it is restored: ${place}`, async () => {
    for (const store of [undefined, new MemoryStore("memory://elsewhere")]) {
      await using stack = new AsyncDisposableStack();
      const damaged = await openLab({ skip: true, ...(store === undefined ? {} : { store }) });
      const { lab, key, seen } = damaged;
      stack.use(lab);
      await damaged.damage(damaged[place]);
      // Until something was read of it nobody knows; then the caller begins anew.
      await lab.query(SUM).catch((error) => assert.ok(isLeftOut(error), `${error}`));
      assert.deepEqual((await lab.query(SUM)).rows, [[20, 200]]);
      const { exact, warnings } = await warningsOf(lab, SUM);
      assert.equal(exact, false);
      assert.deepEqual(warnings, [`the data file ${key} is damaged or gone and was left out`]);
      // A way of answering does not matter: the file is left out of all.
      assert.deepEqual((await lab.query("SELECT count(*) FROM events")).rows, [[20]]);
      const ordered = await lab.query("SELECT raw FROM events ORDER BY timestamp DESC LIMIT 100");
      assert.equal(ordered.rows.length, 20);
      assert.equal(seen.damages, 1);
      await damaged.restore();
      damaged.clock.aheadMs += DAMAGED_MS_MAX;
      assert.deepEqual((await lab.query(SUM)).rows, [[30, 300]]);
      assert.deepEqual(await warningsOf(lab, SUM), { exact: true, warnings: [] });
    }
  });
}

const BY_TIME = "SELECT raw FROM events ORDER BY timestamp DESC LIMIT 100";
const LOST: readonly (readonly [sql: string, whole: unknown, rest: unknown])[] = [
  [SUM, [[30, 300]], [[20, 200]]],
  [BY_TIME, 30, 20],
  ["SELECT count(*) FROM events WHERE match_terms(raw, 'r15xxxxxxx')", [[1]], [[0]]],
];

for (const way of ["cut", "remove"] as const) {
  for (const [sql, whole, rest] of LOST) {
    Deno.test(`skipDamagedFiles answers without a file after ${way}, and says so: ${sql}`, async () => {
      for (const store of [undefined, new MemoryStore("memory://elsewhere")]) {
        await using stack = new AsyncDisposableStack();
        const lost = await openLab({ skip: true, ...(store === undefined ? {} : { store }) });
        const { lab, key, seen } = lost;
        stack.use(lab);
        const ask = async () => {
          const { rows } = await lab.query(sql);
          return typeof rest === "number" ? rows.length : rows;
        };
        await lost[way]();
        // Until something was read of it nobody knows; then the caller begins anew.
        await ask().catch((error) => assert.ok(isLeftOut(error), `${error}`));
        assert.deepEqual(await ask(), rest);
        const { exact, warnings } = await warningsOf(lab, sql);
        assert.equal(exact, false);
        assert.deepEqual(warnings, [`the data file ${key} is damaged or gone and was left out`]);
        assert.equal(seen.damages, way === "cut" ? 1 : 0);
        await lost.restore();
        lost.clock.aheadMs += DAMAGED_MS_MAX;
        assert.deepEqual(await ask(), whole);
      }
    });
  }
}

Deno.test("a file that is gone is 503 with its name where no file is left out", async () => {
  for (const store of [undefined, new MemoryStore("memory://elsewhere")]) {
    await using stack = new AsyncDisposableStack();
    const lost = await openLab({ skip: false, ...(store === undefined ? {} : { store }) });
    const { lab, key } = lost;
    stack.use(lab);
    await lost.remove();
    for (const [sql] of LOST) {
      await assert.rejects(lab.query(sql), (error) => {
        assert.ok(isOperatingError(error, "unavailable"), `${error} ${sql}`);
        assert.equal(error.reason, "storage_unavailable");
        assert.ok(error.message.includes(key), error.message);
        return true;
      });
    }
  }
});

Deno.test("a damaged page of few rows is told behind those that were written, and left out from then on", async () => {
  const random = new SeededRandom(3);
  // More than a chunk of a file, so that a later file is read behind the first rows.
  const textOf = () => Array.from({ length: 400 }, () => random.below(36).toString(36)).join("");
  for (const skip of [false, true]) {
    for (const store of [undefined, new MemoryStore("memory://elsewhere")]) {
      await using stack = new AsyncDisposableStack();
      const options = { skip, rows: 1_000, textOf, ...(store === undefined ? {} : { store }) };
      const damaged = await openLab(options);
      const { lab, key, seen } = damaged;
      stack.use(lab);
      await damaged.damage(damaged.chunkAt);
      const sql = "SELECT raw FROM events ORDER BY timestamp DESC LIMIT 2500";
      await assert.rejects(lab.query(sql), (error) => {
        assert.ok(isOperatingError(error) && error.message.includes(key), `${error}`);
        assert.equal(isLeftOut(error), skip);
        return true;
      });
      assert.equal(seen.damages, 1);
      if (skip) assert.equal((await lab.query(sql)).rows.length, 2_000);
    }
  }
});
