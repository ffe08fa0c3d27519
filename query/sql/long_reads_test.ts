import assert from "node:assert/strict";
import type { LongReads } from "../../shared/catalog/long_reads.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { SHORT_READ_MS_MAX } from "../../shared/tables/expire.ts";
import { FakeClock } from "../../shared/testing/fake_clock.ts";
import { LONG_READ_LEASE_MS, LongStatements } from "./long_reads.ts";

class ToldReads implements LongReads {
  readonly told: string[] = [];
  fails = false;

  hold(id: string, leaseMs: number): Promise<void> {
    this.told.push(`hold ${id} ${leaseMs}`);
    return this.fails ? Promise.reject(new Error("away")) : Promise.resolve();
  }

  end(id: string): Promise<void> {
    this.told.push(`end ${id}`);
    return this.fails ? Promise.reject(new Error("away")) : Promise.resolve();
  }
}

function lab() {
  const reads = new ToldReads();
  const clock = new FakeClock();
  const random = new SystemRandom();
  const statements = new LongStatements({ open: () => Promise.resolve(reads), clock, random });
  return { reads, clock, statements };
}

Deno.test("LongStatements enters a statement with more time than a short one, renews and ends it", async () => {
  const { reads, clock, statements } = lab();
  const entered = await statements.enter(SHORT_READ_MS_MAX + 1);
  assert.equal(reads.told.length, 1, "before it returns");
  for (let minute = 0; minute < 20; minute += 1) await clock.advance(60_000);
  const [first] = reads.told;
  assert.match(first ?? "", new RegExp(`^hold \\S+ ${LONG_READ_LEASE_MS}$`));
  assert.deepEqual([...new Set(reads.told)], [first]);
  assert.ok(reads.told.length > 20 * 60_000 / LONG_READ_LEASE_MS, "more often than it runs out");
  await entered[Symbol.asyncDispose]();
  assert.match(reads.told.at(-1) ?? "", /^end /);
});

Deno.test("LongStatements leaves short statements alone", async () => {
  const { reads, statements } = lab();
  await using _entered = await statements.enter(SHORT_READ_MS_MAX);
  assert.deepEqual(reads.told, []);
});

Deno.test("LongStatements lets a statement run whose catalog is away", async () => {
  const { reads, statements } = lab();
  reads.fails = true;
  const entered = await statements.enter(SHORT_READ_MS_MAX + 1);
  await entered[Symbol.asyncDispose]();
  assert.equal(reads.told.length, 2);
});
