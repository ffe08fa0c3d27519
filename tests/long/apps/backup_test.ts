/**
 * `svc backup` beside running roles, the original destroyed, `svc restore` at another place: as
 * processes, each role under its own permission set.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { openS3Store } from "../../../shared/storage/s3_store.ts";
import { POSTGRES, PostgresProcess } from "../../../shared/testing/postgres_process.ts";
import { S3Process } from "../../../shared/testing/s3_process.ts";
import { Stack } from "../../apps/stack.ts";
import { svc, until } from "../../apps/svc_process.ts";

const ROWS = "SELECT raw, timestamp, attributes, host FROM events ORDER BY raw";

/** Sends rows without a pause, and knows which were acknowledged. */
class Sender {
  readonly sent = new Set<string>();
  readonly acknowledged = new Set<string>();
  #isOver = false;
  readonly #stack: Stack;
  readonly #ended: Promise<void>;

  constructor(stack: Stack) {
    this.#stack = stack;
    this.#ended = this.#send();
  }

  async #send(): Promise<void> {
    for (let at = 0; !this.#isOver; at += 1) {
      const rows = Array.from(
        { length: 20 },
        (_, n) => `row ${String(20 * at + n).padStart(8, "0")}`,
      );
      rows.forEach((row) => this.sent.add(row));
      const commit = at % 10 === 9 ? "force" : "wait_for";
      if (!await this.#stack.sendLogs(rows, { commit })) continue;
      rows.forEach((row) => this.acknowledged.add(row));
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }
}

async function rowsOf(stack: Stack): Promise<unknown[][]> {
  const { rows } = await stack.sql(ROWS);
  return rows.map((row) => [...row]);
}

/** Everything that `before` has is in `after` as it was; nothing is there twice or from nowhere. */
function assertRestored(
  after: readonly unknown[][],
  { before, acknowledged, sent }: {
    before: readonly unknown[][];
    acknowledged: ReadonlySet<string>;
    sent: ReadonlySet<string>;
  },
): void {
  const restored = new Map(after.map((row) => [String(row[0]), JSON.stringify(row)]));
  assert.equal(restored.size, after.length, "no row is there twice");
  for (const row of before) assert.equal(restored.get(String(row[0])), JSON.stringify(row));
  for (const raw of acknowledged) assert.ok(restored.has(raw), `${raw} was acknowledged`);
  for (const raw of restored.keys()) assert.ok(sent.has(raw), `${raw} was never sent`);
}

Deno.test({
  name: "svc backup beside ingest, the folder destroyed, svc restore elsewhere: every row once",
  async fn() {
    await using place = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "svc-backup-" });
    place.defer(() => Deno.remove(folder, { recursive: true }));
    const [original, restored, backup] = ["original", "restored", "backup"]
      .map((name) => join(folder, name)) as [string, string, string];
    await Deno.mkdir(original);
    const before: { rows: unknown[][]; acknowledged: Set<string>; sent: Set<string> } = {
      rows: [],
      acknowledged: new Set(),
      sent: new Set(),
    };
    {
      await using stack = await Stack.start({ dataDir: original, rollAgeSecs: 1 });
      const sender = new Sender(stack);
      await until(() => sender.acknowledged.size > 200);
      const first = await svc(["backup", "--to", backup, "--data-dir", original]);
      assert.equal(first.code, 0, first.notes);
      assert.equal(first.notes, "", "no progress in a pipe");
      before.rows = await rowsOf(stack);
      before.acknowledged = new Set(sender.acknowledged);
      const second = await svc(["backup", "--to", backup, "--data-dir", original]);
      assert.equal(second.code, 0, second.notes);
      const [, files = "", copied = ""] =
        /\| +(\d+) \| +\d+ \| +(\d+) \| +\d+ \| +\d+ \| +\d+\s*$/.exec(second.output.trimEnd()) ??
          [];
      assert.ok(Number(copied) < Number(files), `not all is copied again: ${second.output}`);
      await sender.stop();
      before.sent = sender.sent;
      for (const role of ["ingest", "compactor", "query"] as const) await stack.kill(role);
    }
    await Deno.remove(original, { recursive: true });

    const listed = await svc(["restore", "--from", backup, "--list"]);
    assert.equal(listed.output.match(/^20\d{6}T/gm)?.length, 2);
    const done = await svc(["restore", "--from", backup, "--data-dir", restored]);
    assert.equal(done.code, 0, done.notes);
    const refused = await svc(["restore", "--from", backup, "--data-dir", restored]);
    assert.equal(refused.code, 1);
    assert.match(refused.notes, /Cannot restore to file:\/\/\S*restored\/warehouse: it holds /);
    await using stack = await Stack.start({ dataDir: restored, rollAgeSecs: 1 });
    assertRestored(await rowsOf(stack), { before: before.rows, ...before });
    assert.equal(await stack.sendLogs(["row later"], { commit: "force" }), true);
    await until(async () => (await Array.fromAsync(sealedIn(restored))).length === 0);
    const last = await rowsOf(stack);
    assertRestored(last, {
      before: before.rows,
      ...before,
      sent: before.sent.union(new Set(["row later"])),
    });
    const info = await svc(["relocate", "--data-dir", restored]);
    assert.match(info.notes, /^0 tables to relocate/);
  },
});

Deno.test({
  name: "svc backup of S3 and PostgreSQL to S3, the objects destroyed, restored to a folder",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn() {
    await using s3 = await S3Process.start();
    await using postgres = await PostgresProcess.start();
    const folder = await Deno.makeTempDir({ prefix: "svc-backup-" });
    await using place = new AsyncDisposableStack();
    place.defer(() => Deno.remove(folder, { recursive: true }));
    const [original, restored] = [join(folder, "original"), join(folder, "restored")];
    await Deno.mkdir(original);
    const uri = await postgres.newDatabase();
    const places = ["--warehouse-url", "s3://warehouse/lake", "--catalog-uri", uri];
    const env = s3.environment;
    const to = "s3://warehouse/backups/lake";
    let before: unknown[][];
    let acknowledged: Set<string>;
    let sent: Set<string>;
    {
      await using stack = await Stack.start({
        ...{ dataDir: original, catalogUri: uri, warehouseUrl: "s3://warehouse/lake" },
        ...{ env, rollAgeSecs: 1 },
      });
      const sender = new Sender(stack);
      await until(() => sender.acknowledged.size > 200);
      before = await rowsOf(stack);
      acknowledged = new Set(sender.acknowledged);
      const made = await svc(["backup", "--to", to, "--data-dir", original, ...places], env);
      assert.equal(made.code, 0, made.notes);
      await sender.stop();
      ({ sent } = sender);
      for (const role of ["ingest", "compactor", "query"] as const) await stack.kill(role);
    }
    await Deno.remove(original, { recursive: true });
    const lake = openS3Store(s3.place("lake"), s3.access);
    const keys = (await Array.fromAsync(lake.list(""))).map(({ key }) => key);
    assert.ok(keys.length > 5);
    // One by one: the test's server fails where a folder goes while it deletes another's object.
    for (const key of keys) await lake.delete([key]);

    const another = await svc(
      ["restore", "--from", to, "--data-dir", restored, "--catalog-uri", uri],
      env,
    );
    assert.equal(another.code, 1);
    assert.match(another.notes, /Cannot restore to postgres:\/\/127.0.0.1:\d+\/test_1: iceberg_/);
    // From PostgreSQL and S3 into a folder with a SQLite catalog.
    const done = await svc(["restore", "--from", to, "--data-dir", restored], env);
    assert.equal(done.code, 0, done.notes);
    {
      await using stack = await Stack.start({ dataDir: restored, rollAgeSecs: 1 });
      assertRestored(await rowsOf(stack), { before, acknowledged, sent });
    }
    // And back into another database and another prefix, from the same backup.
    const again = join(folder, "again");
    const catalogUri = await postgres.newDatabase();
    const back = ["--warehouse-url", "s3://warehouse/second", "--catalog-uri", catalogUri];
    const second = await svc(["restore", "--from", to, "--data-dir", again, ...back], env);
    assert.equal(second.code, 0, second.notes);
    await using stack = await Stack.start({
      ...{ dataDir: again, catalogUri, warehouseUrl: "s3://warehouse/second", env, rollAgeSecs: 1 },
    });
    assertRestored(await rowsOf(stack), { before, acknowledged, sent });
  },
});

Deno.test({
  name: "svc relocate: a copied warehouse commits nothing until it is told that it was moved",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "svc-relocate-" });
    await using place = new AsyncDisposableStack();
    place.defer(() => Deno.remove(folder, { recursive: true }));
    const [original, copy] = [join(folder, "original"), join(folder, "copy")];
    await Deno.mkdir(original);
    {
      await using stack = await Stack.start({ dataDir: original, rollAgeSecs: 1 });
      assert.equal(await stack.sendLogs(["a", "b"], { commit: "force" }), true);
    }
    await Deno.rename(original, copy);
    await using stack = await Stack.start({ dataDir: copy, rollAgeSecs: 1 });
    assert.deepEqual((await stack.sql("SELECT raw FROM events ORDER BY raw")).rows, [["a"], ["b"]]);
    const rest = `${stack.queryUrl}/iceberg/v1/namespaces/svc/tables/events`;
    const refused = await fetch(rest);
    assert.equal(refused.status, 412);
    assert.match(await refused.text(), /svc relocate/);
    assert.equal(await stack.sendLogs(["c"], { commit: "wait_for" }), true);
    const planned = await svc(["relocate", "--data-dir", copy]);
    assert.equal(planned.code, 0, planned.notes);
    assert.match(planned.output, /svc\.events .*original\/warehouse.* relocate/);
    // Its log says what to do, once it has tried to commit the row.
    await until(() => stack.said("compactor").includes("svc relocate"));
    await stack.stop("compactor");
    const done = await svc(["relocate", "--data-dir", copy, "--apply"]);
    assert.equal(done.code, 0, done.notes);
    await stack.ensure("compactor");
    assert.equal(await stack.sendLogs(["d"], { commit: "force" }), true);
    const text = await (await fetch(rest)).text();
    assert.doesNotMatch(text, /original/);
    const { rows } = await stack.sql("SELECT raw FROM events ORDER BY raw");
    assert.deepEqual(rows, [["a"], ["b"], ["c"], ["d"]]);
  },
});

async function* sealedIn(dataDir: string): AsyncGenerator<string> {
  for await (const { name } of Deno.readDir(`${dataDir}/wal/default/events/sealed`)) yield name;
}
