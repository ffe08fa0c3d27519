/** Following a table: each row that an append brings once, rewrites passed over, gaps told. */

import assert from "node:assert/strict";
import { isOperatingError } from "../../shared/base/errors.ts";
import type { TableCommit } from "../../shared/catalog/catalog.ts";
import { commitRewrite } from "../../shared/iceberg/commit_rewrite.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import { sweepDeleteTasks } from "../../shared/upkeep/delete_loop.ts";
import { applyExpire } from "../../shared/tables/expire.ts";
import { createMetrics } from "../../shared/metrics/metrics.ts";
import { DeleteLab, EVENTS, nsOf, numbersFrom } from "../../shared/testing/delete_lab.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { CursorFile } from "./cursor_file.ts";
import { SUBSCRIPTION_METRICS } from "./metrics.ts";
import { Subscription, type SubscriptionCursor } from "./subscription.ts";

interface Followed {
  readonly subscription: Subscription;
  /** Numbers of the rows delivered since it was last asked. */
  taken(): number[];
  readonly lines: string[];
  metric(series: string): Promise<number>;
}

interface FollowOptions {
  readonly cursor?: Partial<SubscriptionCursor>;
  readonly timeColumn?: string;
  readonly table?: string;
  readonly deliver?: (lines: string) => Promise<void>;
  readonly keep?: (cursor: SubscriptionCursor) => Promise<void>;
}

function follow(lab: DeleteLab, options: FollowOptions = {}): Followed {
  const lines: string[] = [];
  let at = 0;
  const metrics = createMetrics(SUBSCRIPTION_METRICS, { version: "0", role: "subscribe" });
  const subscription = new Subscription(
    {
      catalog: lab.catalog,
      store: lab.store,
      reader: new IcebergReader(lab.store),
      metrics,
      async deliver(text) {
        await options.deliver?.(text);
        assert.ok(text.endsWith("\n"));
        lines.push(...text.trimEnd().split("\n"));
      },
      keep: options.keep ?? (() => Promise.resolve()),
    },
    {
      ident: { ...EVENTS, name: options.table ?? "events" },
      timeColumn: options.timeColumn ?? "timestamp",
    },
    { tableUuid: undefined, snapshotId: undefined, sinceNs: nsOf(0), ...options.cursor },
  );
  return {
    subscription,
    lines,
    taken() {
      const fresh = lines.slice(at).map((line) => Number(JSON.parse(line).raw));
      at = lines.length;
      return fresh;
    },
    async metric(series) {
      const { text } = await metrics.render(null);
      return Number(text.split("\n").find((line) => line.startsWith(`${series} `))?.split(" ")[1]);
    },
  };
}

Deno.test({
  name: "a subscription delivers what is there in order of time, then what each append adds",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([5, 1, 3]);
    await lab.commit([4, 2]);
    const { subscription, taken, lines } = follow(lab);
    await subscription.poll();
    assert.deepEqual(taken(), [1, 2, 3, 4, 5]);
    assert.equal(
      lines[0],
      '{"timestamp":"2026-11-20T00:00:01.000000Z","timestamp_ns":1795132801000000000,' +
        '"host":"h1","source":"lab","sourcetype":"lab","index":"main","raw":"1",' +
        '"attributes":"{\\"odd\\":\\"yes\\"}"}',
    );
    await subscription.poll();
    assert.deepEqual(taken(), []);
    await lab.commit([9, 8]);
    await lab.commit([7]);
    await subscription.poll();
    assert.deepEqual(taken(), [8, 9, 7], "commit by commit");
  },
});

Deno.test({
  name: "a subscription leaves out what is older than its start, also when it comes late",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit(numbersFrom(0, 10));
    const byTime = follow(lab, { cursor: { sinceNs: nsOf(7) } });
    const byNs = follow(lab, { cursor: { sinceNs: nsOf(7) }, timeColumn: "timestamp_ns" });
    for (const { subscription, taken } of [byTime, byNs]) {
      await subscription.poll();
      assert.deepEqual(taken(), [7, 8, 9]);
    }
    await lab.commit([2, 11]);
    await byTime.subscription.poll();
    assert.deepEqual(byTime.taken(), [11]);
    for (const timeColumn of ["raw", "nosuch"]) {
      await assert.rejects(
        follow(lab, { timeColumn }).subscription.poll(),
        new RegExp(`--time-column ${timeColumn}`),
      );
    }
  },
});

Deno.test({
  name: "a subscription passes over rewrites, counts them by who made them, and repeats no row",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([1, 2, 3]);
    await lab.commit([4]);
    const { subscription, taken, metric } = follow(lab);
    await subscription.poll();
    taken();
    await lab.submit("raw = '2'");
    await sweepDeleteTasks(lab.deps);
    await lab.commit([5]);
    await lab.submit("raw IN ('3', '5')");
    await sweepDeleteTasks(lab.deps);
    await subscription.poll();
    assert.deepEqual(taken(), [5], "as it was committed, though it is gone by now");
    const skipped = (origin: string) =>
      metric(`svc_subscription_rewrite_commits_skipped_total{table="events",origin="${origin}"}`);
    assert.equal(await skipped("svc"), 2);
    await foreignRewrite(lab);
    await subscription.poll();
    assert.deepEqual([taken(), await skipped("svc"), await skipped("foreign")], [[], 2, 1]);
  },
});

Deno.test({
  name: "a subscription whose history expired fails by name and moves its cursor nowhere",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([1]);
    const { subscription, taken, metric } = follow(lab);
    await subscription.poll();
    const before = subscription.cursor;
    for (const number of [2, 3, 4]) await lab.commit([number]);
    lab.clock.shift(120_000);
    await applyExpire(lab.deps, EVENTS, { retainLast: 2, ageMsMin: 0 });
    taken();
    for (let times = 1; times <= 2; times += 1) {
      await assert.rejects(subscription.poll(), (error: unknown) => {
        assert.ok(isOperatingError(error, "conflict"), String(error));
        assert.equal(error.reason, "history_gap");
        return true;
      });
      assert.equal(await metric("svc_subscription_history_gap_total"), times);
    }
    assert.deepEqual([taken(), subscription.cursor], [[], before]);
    const anew = follow(lab);
    await anew.subscription.poll();
    assert.deepEqual(anew.taken(), [1, 2, 3, 4]);
  },
});

Deno.test({
  name:
    "a subscription waits for the first rows of a table that is known, and refuses an unknown one",
  async fn() {
    await using lab = await DeleteLab.open();
    const { subscription, taken } = follow(lab);
    await subscription.poll();
    await lab.commit([1]);
    await subscription.poll();
    assert.deepEqual(taken(), [1]);
    await assert.rejects(follow(lab, { table: "nosuch" }).subscription.poll(), /nosuch/);
  },
});

Deno.test({
  name: "a subscription tells when its table was dropped, or is another one",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([1]);
    const { subscription, taken } = follow(lab);
    await subscription.poll();
    await lab.catalog.dropTable(EVENTS);
    await assert.rejects(subscription.poll(), /was dropped; begin anew/);
    await lab.commit([2]);
    await assert.rejects(subscription.poll(), /was dropped and made again/);
    assert.deepEqual(taken(), [1]);
  },
});

Deno.test({
  name: "a subscription goes on from its state file: no row is left out, whatever failed when",
  async fn() {
    await using lab = await DeleteLab.open();
    const files = new DenoFileSystem();
    const state = new CursorFile(`${lab.dir}/state/cursor.json`, { files, ident: EVENTS });
    const delivered: number[] = [];
    const committed: number[] = [];
    for (let round = 0; round < 12; round += 1) {
      const numbers = numbersFrom(round * 10, 3);
      await lab.commit(numbers.slice(0, 2));
      await lab.commit(numbers.slice(2));
      committed.push(...numbers);
      const cursor = await state.read();
      assert.equal(cursor === undefined, round === 0);
      let calls = 0;
      const { subscription, taken } = follow(lab, {
        ...(cursor === undefined ? {} : { cursor }),
        // The output, or the file, fails before one of the calls.
        deliver: () => round > 0 && calls++ === round % 4 ? failing() : Promise.resolve(),
        keep: (next) => round > 0 && calls++ === round % 4 ? failing() : state.write(next),
      });
      await subscription.poll().catch((error) => assert.match(String(error), /no more/));
      delivered.push(...taken());
    }
    const last = follow(lab, { cursor: await state.read() ?? {} });
    await last.subscription.poll();
    delivered.push(...last.taken());
    assert.deepEqual([...new Set(delivered)].sort((a, b) => a - b), committed);
    const other = new CursorFile(`${lab.dir}/state/cursor.json`, {
      files,
      ident: { namespace: "acme", name: "events" },
    });
    await assert.rejects(other.read(), /of svc\.events, not of acme\.events/);
    await Deno.writeTextFile(`${lab.dir}/state/cursor.json`, '{"version":2}');
    await assert.rejects(state.read(), /remove it to begin anew/);
    const folder = new CursorFile(`${lab.dir}/state`, { files, ident: EVENTS });
    await assert.rejects(folder.read(), /Cannot read --state .*state: .*directory/i);
    const cursor = { tableUuid: "t", snapshotId: 1n, sinceNs: 0n };
    await assert.rejects(folder.write(cursor), /Cannot keep the cursor in --state .*state: /);
  },
});

function failing(): Promise<never> {
  return Promise.reject(new Error("no more"));
}

/** Compacts as another engine does: a snapshot without our mark. */
async function foreignRewrite(lab: DeleteLab): Promise<void> {
  const table = await lab.load();
  assert.ok(table !== undefined);
  const [file] = await lab.liveFiles();
  assert.ok(file !== undefined);
  const catalog = Object.create(lab.catalog);
  catalog.commit = (change: TableCommit) =>
    lab.catalog.commit({ ...change, next: foreignName(change.next) });
  const unmarked = Object.create(lab.store);
  unmarked.putNew = (key: string, bytes: Uint8Array) => {
    const text = new TextDecoder().decode(bytes);
    const isMetadata = key.endsWith(".metadata.json");
    return lab.store.putNew(
      foreignName(key),
      isMetadata
        ? new TextEncoder().encode(text.replaceAll(/,"svc\.rewrite":"retention"/g, ""))
        : bytes,
    );
  };
  const { outcome } = await commitRewrite({ ...lab.deps, store: unmarked, catalog }, {
    ident: EVENTS,
    tableUuid: table.uuid,
    kind: "retention",
    replaced: [file],
    files: [],
  });
  assert.equal(outcome, "committed");
}

/** Metadata of other programs has no checksum in its name: a random UUID is of version 4. */
function foreignName(key: string): string {
  return key.replace(/-8([0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\.metadata\.json)$/, "-4$1");
}
