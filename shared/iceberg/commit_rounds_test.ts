/**
 * How many object requests a commit waits for one after the other: behind a network each costs a
 * round trip.
 */

import assert from "node:assert/strict";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import type { ObjectStore } from "../storage/object_store.ts";
import { EVENTS, TableLab } from "../testing/table_lab.ts";
import { commitAppend, ensureTable } from "./commit_append.ts";
import { IcebergReader } from "./iceberg_reader.ts";
import { FAN_IN } from "./merge_plan.ts";

/** Issue 5, "Figures". */
const ROUND_TRIPS_MAX = 6;

/**
 * Counts the longest chain of requests: one that begins when a request of round n has ended may
 * have waited for it, and is of round n + 1.
 */
class Rounds {
  ended = 0;
  requests = 0;

  async of<T>(request: () => Promise<T>): Promise<T> {
    const round = this.ended + 1;
    this.requests += 1;
    // Requests that were sent together are on their way together.
    await new Promise((resolve) => setTimeout(resolve, 0));
    try {
      return await request();
    } finally {
      this.ended = Math.max(this.ended, round);
    }
  }
}

function countingStore(inner: ObjectStore, rounds: () => Rounds): ObjectStore {
  return {
    rootUri: inner.rootUri,
    get: (key) => rounds().of(() => inner.get(key)),
    getRange: (key, offset, length) => rounds().of(() => inner.getRange(key, offset, length)),
    head: (key) => rounds().of(() => inner.head(key)),
    list: (prefix) => inner.list(prefix),
    localPath: () => undefined,
    putNew: (key, bytes) => rounds().of(() => inner.putNew(key, bytes)),
    delete: (keys) => rounds().of(() => inner.delete(keys)),
  };
}

for (const keepsReader of [true, false]) {
  Deno.test({
    name: `commitAppend waits for at most ${ROUND_TRIPS_MAX} rounds of requests, ${
      keepsReader ? "with the reader of the last commit" : "with a reader that knows nothing"
    }`,
    async fn() {
      await using lab = await TableLab.open();
      let rounds = new Rounds();
      const store = countingStore(lab.store, () => rounds);
      const kept = new IcebergReader(store);
      const table = await ensureTable(lab.deps, { ident: EVENTS, schema: EVENTS_SCHEMA });
      const seen: number[] = [];
      // Past two levels of merged manifests.
      for (let at = 0; at < FAN_IN * FAN_IN + 2; at += 1) {
        rounds = new Rounds();
        const reader = keepsReader ? kept : new IcebergReader(store);
        const files = [lab.newFile(table, { day: at % 3, startNs: BigInt(at) * 100n })];
        const change = { ident: EVENTS, schema: EVENTS_SCHEMA, files, consumed: [`s${at}`] };
        const { outcome } = await commitAppend({ ...lab.deps, store, reader }, change);
        assert.equal(outcome, "committed");
        assert.ok(
          rounds.requests >= 3,
          "a manifest, a manifest list and table metadata are written",
        );
        seen.push(rounds.ended);
      }
      assert.ok(Math.max(...seen) <= ROUND_TRIPS_MAX, `rounds of each commit: ${seen}`);
    },
  });
}
