import assert from "node:assert/strict";
import fc from "fast-check";
import { isOperatingError } from "../../shared/base/errors.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { WriterQueues } from "./writer_queues.ts";
import { openBackpressure } from "./backpressure.ts";
import { BACKPRESSURE_OPTIONS } from "./backpressure_flags.ts";
import { createIngestMetrics } from "../metrics.ts";

function newQueues(capacity: number, shards = 1) {
  const metrics = createIngestMetrics({ version: "1", role: "ingest" });
  const rejected = () => metrics.backpressureRejected.at({}).value;
  return { queues: new WriterQueues({ capacity, shards }, metrics), rejected };
}

const isFull = (error: unknown) =>
  isOperatingError(error, "unavailable") && error.reason === "backpressure" &&
  error.retryAfterSecs === 1;

Deno.test({
  name: "WriterQueues refuses the place past a tenant's capacity and no other tenant's",
  fn: () => {
    const { queues, rejected } = newQueues(2);
    const first = queues.enter({ tenant: "a", index: "events" });
    using _second = queues.enter({ tenant: "a", index: "traces" });
    assert.throws(() => queues.enter({ tenant: "a", index: "events" }), isFull);
    assert.throws(() => queues.requireRoom("a"), isFull);
    assert.equal(rejected(), 2);
    queues.requireRoom("b");
    using _other = queues.enter({ tenant: "b", index: "events" });
    first[Symbol.dispose]();
    queues.requireRoom("a");
    using _third = queues.enter({ tenant: "a", index: "events" });
    assert.equal(queues.taken, 3);
    assert.equal(rejected(), 2);
  },
});

Deno.test({
  name: "WriterQueues with shards leaves other indexes of a flooded tenant their room",
  fn: () => {
    const { queues } = newQueues(1, 2);
    using _flooded = queues.enter({ tenant: "a", index: "a" });
    assert.throws(() => queues.enter({ tenant: "a", index: "a" }), isFull);
    queues.requireRoom("a"); // The other queue has room: the check passes.
    using _beside = queues.enter({ tenant: "a", index: "b" });
    assert.throws(() => queues.requireRoom("a"), isFull);
  },
});

Deno.test({
  name: "WriterQueues counts as a plain list of places does",
  fn: () => {
    const step = fc.record({ tenant: fc.constantFrom("a", "b", "c"), enter: fc.boolean() });
    fc.assert(fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step), (capacity, steps) => {
      const { queues } = newQueues(capacity);
      const held: { tenant: string; place: Disposable }[] = [];
      for (const { tenant, enter } of steps) {
        const taken = held.filter((one) => one.tenant === tenant);
        if (!enter) {
          const one = taken[0];
          if (one === undefined) continue;
          held.splice(held.indexOf(one), 1);
          one.place[Symbol.dispose]();
        } else if (taken.length < capacity) {
          held.push({ tenant, place: queues.enter({ tenant, index: "events" }) });
        } else {
          assert.throws(() => queues.enter({ tenant, index: "events" }), isFull);
        }
        assert.equal(queues.taken, held.length);
      }
    }));
  },
});

const CAPACITY_0 = ["--ingest-backpressure-capacity", "0"];
const CONFLICTS: { args: string[]; named: RegExp }[] = [
  { args: [...CAPACITY_0, "--ingest-group-commit-ms", "2"], named: /--ingest-group-commit-ms 2/ },
  {
    args: [...CAPACITY_0, "--ingest-backpressure-shards", "3"],
    named: /--ingest-backpressure-shards 3/,
  },
];

for (const { args, named } of CONFLICTS) {
  Deno.test({
    name: `openBackpressure refuses ${args.join(" ")}, naming both`,
    fn: () => {
      const metrics = createIngestMetrics({ version: "1", role: "ingest" });
      const settings = parseOptions(BACKPRESSURE_OPTIONS, args);
      const open = () => openBackpressure(settings, { metrics, clock: new SystemClock() });
      assert.throws(open, named);
      assert.throws(open, /--ingest-backpressure-capacity 0/);
    },
  });
}

Deno.test({
  name: "openBackpressure with capacity 0 has no queue, by default one of 1024",
  fn: async () => {
    const parts = {
      metrics: createIngestMetrics({ version: "1", role: "ingest" }),
      clock: new SystemClock(),
    };
    const open = (args: string[]) =>
      openBackpressure(parseOptions(BACKPRESSURE_OPTIONS, args), parts);
    await using none = open(CAPACITY_0);
    assert.equal(none.queues, undefined);
    await using usual = open([]);
    for (let place = 0; place < 1024; place++) {
      usual.queues?.enter({ tenant: "default", index: "events" });
    }
    assert.throws(() => usual.queues?.requireRoom("default"), isFull);
  },
});
