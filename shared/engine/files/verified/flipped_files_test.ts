/**
 * One bit of one stored file is another than was written, and statements run: each gives the rows
 * that were stored, or an error. Nothing that the engine has read before counts, by its caches.
 */

import assert from "node:assert/strict";
import { present } from "../../../base/assert.ts";
import { DAMAGED_FILE } from "../../../base/damaged_file.ts";
import { isOperatingError } from "../../../base/errors.ts";
import type { GivingCache } from "../../../memory/memory_keeper.ts";
import { SystemClock } from "../../../os/clock.ts";
import { EngineLab } from "../../../testing/engine_lab.ts";
import { flipped } from "../../../testing/flipped_store.ts";
import { SeededRandom } from "../../../testing/seeded_random.ts";
import type { EngineOptions } from "../../open_engine.ts";

const START_NS = 1_790_000_000_000_000_000n;
const ROWS = 3_000;
const FLIPS_A_KIND = Number(Deno.env.get("SVC_TEST_FLIPS") ?? 6);

/** One for each way to an answer. */
const STATEMENTS = [
  "SELECT count(*) FROM events",
  "SELECT host, count(*) FROM events GROUP BY host ORDER BY host",
  "SELECT sum(length(raw)), min(raw), max(raw), sum(timestamp_ns % 1000003) FROM events",
  "SELECT count(*), min(raw) FROM events WHERE match_phrase(raw, 'w1234')",
  "SELECT raw FROM events WHERE raw LIKE '%w77 %' ORDER BY raw",
  "SELECT timestamp, host, raw FROM events ORDER BY timestamp DESC, raw LIMIT 20",
  "SELECT raw, host FROM events WHERE host = 'h3' ORDER BY timestamp DESC, raw LIMIT 5",
  "SELECT date_trunc('minute', timestamp) AS m, count(*) FROM events GROUP BY ALL ORDER BY m",
  "SELECT sum(attr_get(attributes, 'n')::BIGINT) FROM events",
  "SELECT * FROM events ORDER BY timestamp, raw LIMIT 7 OFFSET 1500",
];

/** Time runs a day ahead at each look, so that no look at a file is trusted. */
class HastyClock extends SystemClock {
  aheadMs = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + this.aheadMs;
  }
}

class FlipLab implements AsyncDisposable {
  readonly #caches: GivingCache[] = [];
  readonly #clock = new HastyClock();
  lab!: EngineLab;

  static async open(engine: Partial<EngineOptions> = {}): Promise<FlipLab> {
    const own = new FlipLab();
    own.lab = await EngineLab.open({
      engine: {
        clock: own.#clock,
        probedRows: 64,
        caches: { keep: (_name, cache) => own.#caches.push(cache) },
        ...engine,
      },
    });
    for (let file = 0; file < 2; file += 1) {
      await own.lab.commit(
        Array.from({ length: ROWS }, (_, at) => {
          const row = file * ROWS + at;
          const noise = (Math.imul(row, 2_654_435_761) >>> 0) % 1_000_003;
          return {
            ns: START_NS + BigInt(row) * 100_000_000n,
            host: `h${noise % 7}`,
            raw: `common w${row} x${noise}`,
            attributes: JSON.stringify({ n: noise, odd: row % 2 === 1 }),
          };
        }),
        { rowGroupRowsMax: 1_000, derived: true },
      );
    }
    return own;
  }

  /** Nothing is known of any file from now on. */
  forget(): void {
    for (const cache of this.#caches) cache.giveWay();
    this.#clock.aheadMs += 86_400_000;
  }

  /** Rows as text, or what the statement failed with. */
  async ask(sql: string): Promise<string | Error> {
    try {
      return (await this.lab.query(sql)).texts.join();
    } catch (error) {
      return error as Error;
    }
  }

  async paths(part: RegExp): Promise<string[]> {
    const paths: string[] = [];
    for await (const { key } of this.lab.store.list("")) {
      if (part.test(key)) paths.push(present(this.lab.store.localPath(key)));
    }
    return paths;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.lab[Symbol.asyncDispose]();
  }
}

const KINDS: { name: string; part: RegExp; mustTell: boolean }[] = [
  { name: "data file", part: /\.parquet$/, mustTell: true },
  { name: "sidecar", part: /\/derived\/.*\.puffin$/, mustTell: false },
  { name: "manifest", part: /-m0\.avro$/, mustTell: true },
  { name: "manifest list", part: /\/snap-.*\.avro$/, mustTell: true },
  { name: "table metadata", part: /\.metadata\.json$/, mustTell: true },
];

for (const { name, part, mustTell } of KINDS) {
  Deno.test(`flipping bits of a ${name} gives the rows that were stored or an error`, async () => {
    await using flips = await FlipLab.open();
    const random = new SeededRandom(27);
    const truth = new Map<string, string>();
    for (const sql of STATEMENTS) {
      const rows = await flips.ask(sql);
      assert.ok(typeof rows === "string", `${sql}: ${rows}`);
      truth.set(sql, rows);
    }
    const paths = await flips.paths(part);
    let told = 0;
    for (let flip = 0; flip < FLIPS_A_KIND; flip += 1) {
      const path = present(paths[Math.floor(random.float() * paths.length)]);
      const bytes = await Deno.readFile(path);
      // The end is where the most depends on each byte.
      const near = flip % 2 === 0 ? bytes.length : Math.min(bytes.length, 2_000);
      const at = bytes.length - 1 - Math.floor(random.float() * near);
      const bit = Math.floor(random.float() * 8);
      await Deno.writeFile(path, flipped(bytes, { at, bit }));
      try {
        for (const [sql, rows] of truth) {
          flips.forget();
          const answer = await flips.ask(sql);
          if (typeof answer === "string") {
            assert.equal(answer, rows, `${path} byte ${at} of ${bytes.length} bit ${bit}: ${sql}`);
          } else {
            const isTold = isOperatingError(answer, "corrupt") && answer.reason === DAMAGED_FILE;
            assert.ok(isTold, `${path} byte ${at} bit ${bit}: ${sql}: ${answer.message}`);
            told += 1;
          }
        }
      } finally {
        await Deno.writeFile(path, bytes);
      }
    }
    if (mustTell) assert.ok(told > 0, "no statement told of any damage");
    flips.forget();
    for (const [sql, rows] of truth) assert.equal(await flips.ask(sql), rows, "as it was");
  });
}

Deno.test("a file that is damaged while it is trusted is no fault of the statement", async () => {
  await using flips = await FlipLab.open();
  const sql = "SELECT sum(length(raw)), max(attributes) FROM events";
  assert.equal(typeof await flips.ask(sql), "string");
  const paths = await flips.paths(/\.parquet$/);
  const stored = await Promise.all(paths.map((path) => Deno.readFile(path)));
  const damages: readonly ((bytes: Uint8Array) => Uint8Array)[] = [
    () => new Uint8Array(),
    (bytes) => bytes.slice(0, bytes.length / 2),
    (bytes) => bytes.map((byte, at) => at % 64 === 60 ? byte ^ 0xff : byte),
    (bytes) => bytes.map((byte, at) => at < bytes.length - 8 && at > 4 ? 0 : byte),
  ];
  for (const [at, damage] of damages.entries()) {
    for (const [file, path] of paths.entries()) {
      await Deno.writeFile(path, damage(present(stored[file])));
      // DuckDB knows a file by its time.
      await Deno.utime(path, at, at);
    }
    const answer = await flips.ask(sql);
    const isFault = isOperatingError(answer, "unavailable") &&
      answer.reason === "storage_unavailable";
    assert.ok(isFault, `damage ${at}: ${answer}`);
  }
  flips.forget();
  const told = await flips.ask(sql);
  assert.ok(isOperatingError(told, "corrupt") && told.reason === DAMAGED_FILE, `${told}`);
});
