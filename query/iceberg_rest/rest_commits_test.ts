/**
 * Commits of snapshots over a real warehouse: one that is as it should be, and those that would
 * mislead this service or show one table's rows in another.
 */

import assert from "node:assert/strict";
import { present } from "../../shared/base/assert.ts";
import { IcebergReader, type LoadedTable } from "../../shared/iceberg/iceberg_reader.ts";
import { encodeManifest, type ListedFile, STATUS } from "../../shared/iceberg/manifest.ts";
import { CONTENT, encodeManifestList } from "../../shared/iceberg/manifest_list.ts";
import { dayFieldOf } from "../../shared/iceberg/partition.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { parseCommit } from "./commit_request.ts";
import { losslessJson } from "../../shared/iceberg/lossless_json.ts";
import { utf8 } from "../../shared/base/bytes.ts";
import { RestCommits } from "./rest_commits.ts";

const EVENTS = { namespace: "svc", name: "events" };
const OTHER = { namespace: "other", name: "events" };
const NS = 1_795_132_800_000_000_000n;
const ID = 9_007_199_254_740_993n;

/** What an engine's commit has otherwise than it should. */
interface Change {
  readonly file?: (file: ListedFile, other: ListedFile) => ListedFile;
  readonly operation?: string;
  /** Whether the manifests of the table before are left out. */
  readonly drops?: boolean;
  /** Where the manifest list is said to be. */
  readonly list?: string;
}

async function loaded(lab: EngineLab, ident = EVENTS): Promise<LoadedTable> {
  const location = present(await lab.catalog.metadataLocation(ident));
  return await new IcebergReader(lab.store).loadTable(ident, location);
}

/** A lab whose table has one file, and another file that no snapshot has. */
async function openLab() {
  await using held = new AsyncDisposableStack();
  const lab = held.use(await EngineLab.open());
  const { schema } = await commitTo(lab, OTHER, "secret");
  await lab.commit([{ ns: NS, raw: "first" }]);
  const before = await loaded(lab);
  await lab.commit([{ ns: NS + 9n, raw: "second" }, { ns: NS + 2n, raw: "third" }], {
    sorted: false,
  });
  const after = await loaded(lab);
  const reader = new IcebergReader(lab.store);
  const files = (await reader.liveEntries(after)).map(({ file }) => file);
  const [old] = (await reader.liveEntries(before)).map(({ file }) => file);
  const fresh = present(files.find(({ key }) => key !== old?.key));
  const [other] = (await reader.liveEntries(await loaded(lab, OTHER))).map(({ file }) => file);
  // The table goes back to where the engine found it.
  await lab.catalog.commit({
    ...{ ident: EVENTS, expected: after.metadataLocation, next: before.metadataLocation },
    ...{ tableUuid: before.uuid, snapshotId: 0n, consumed: [], schema },
  });
  const { store, catalog, clock, random } = lab;
  const commits = held.use(
    new RestCommits({ store, clock, random, catalog: () => Promise.resolve(catalog) }),
  );
  const all = held.move();
  return {
    ...{ lab, commits, before, fresh, other: present(other) },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function commitTo(lab: EngineLab, ident: typeof EVENTS, raw: string) {
  const { EVENTS_SCHEMA: schema } = await import("../../shared/schema/events.ts");
  const row = {
    ...{ timestamp: NS / 1_000n, timestamp_ns: NS, host: "h", source: "s", sourcetype: "t" },
    ...{ index: "main", raw, attributes: null },
  };
  await lab.commitRows([row], { ident, schema });
  return { schema };
}

type Lab = Awaited<ReturnType<typeof openLab>>;
let names = 0;

/** Writes the manifest and the list of a snapshot that appends, and asks for its commit. */
async function commit({ lab, commits, before, fresh, other }: Lab, change: Change): Promise<void> {
  const { metadata, schema, locationKey } = before;
  const sequenceNumber = metadata["last-sequence-number"] + 1n;
  const file = change.file?.(fresh, other) ?? fresh;
  const head = { snapshotId: ID, sequenceNumber: undefined, fileSequenceNumber: undefined };
  const day = dayFieldOf(present(metadata["partition-specs"][0]), schema, "t");
  const bytes = encodeManifest(
    { schema: present(metadata.schemas[0]), specId: 0, day },
    [{ status: STATUS.added, ...head, file }],
    { schema, sync: new Uint8Array(16) },
  );
  names += 1;
  const [manifestKey, listKey] = ["m", "l"].map((one) => `${locationKey}/metadata/${one}${names}`);
  await lab.store.putNew(present(manifestKey), bytes);
  const own = {
    ...{ location: `${lab.store.rootUri}/${manifestKey}`, byteLength: bytes.byteLength },
    ...{ specId: 0, content: CONTENT.data, sequenceNumber, minSequenceNumber: sequenceNumber },
    ...{ addedSnapshotId: ID, addedFiles: 1, existingFiles: 0, deletedFiles: 0 },
    ...{ addedRows: BigInt(file.rows), existingRows: 0n, deletedRows: 0n },
    ...{ partitions: undefined, keyMetadata: undefined },
  };
  const kept = change.drops ? [] : await new IcebergReader(lab.store).manifests(before);
  const list = encodeManifestList(
    { snapshotId: ID, parentSnapshotId: before.snapshotId, sequenceNumber },
    [own, ...kept],
    new Uint8Array(16),
  );
  await lab.store.putNew(present(listKey), list);
  const snapshot = {
    ...{ "snapshot-id": ID, "parent-snapshot-id": before.snapshotId },
    ...{ "sequence-number": sequenceNumber, "timestamp-ms": lab.clock.nowMs() },
    ...{ "manifest-list": change.list ?? `${lab.store.rootUri}/${listKey}`, "schema-id": 0 },
    summary: { operation: change.operation ?? "append" },
  };
  const body = losslessJson({
    requirements: [{
      ...{ type: "assert-ref-snapshot-id", ref: "main", "snapshot-id": before.snapshotId },
    }],
    updates: [
      { action: "add-snapshot", snapshot },
      { action: "set-snapshot-ref", "ref-name": "main", type: "branch", "snapshot-id": ID },
    ],
  });
  await commits.commit(EVENTS, parseCommit(utf8(body)));
}

const raws = async ({ lab }: Lab) =>
  (await lab.query("SELECT raw FROM events ORDER BY raw")).rows.flat();

Deno.test({
  name: "an engine's commit is in the table as it was asked for, and once",
  async fn() {
    await using lab = await openLab();
    await commit(lab, {});
    assert.deepEqual(await raws(lab), ["first", "second", "third"]);
    // Another attempt at it finds that the table has moved on.
    await assert.rejects(commit(lab, {}), { code: "conflict", reason: "requirement_failed" });
    assert.deepEqual(await raws(lab), ["first", "second", "third"]);
    // The service goes on from there.
    await lab.lab.commit([{ ns: NS + 20n, raw: "ours again" }]);
    assert.equal((await raws(lab)).length, 4);
  },
});

const at = (place: string) => (file: ListedFile): ListedFile => ({
  ...file,
  location: file.location.replace(/data\/.*$/, place),
});

const REFUSED: readonly (readonly [change: Change, says: RegExp])[] = [
  [{ file: (_, other) => other }, /lies outside of the table's folder/],
  [{ file: at("../events-0/data/x.parquet") }, /cannot be read here|outside/],
  [{ file: at("data/none.parquet") }, /cannot be read here/],
  [{ file: (file) => ({ ...file, rows: 3 }) }, /it has 2 rows, not 3/],
  [{ file: (file) => ({ ...file, rows: 0 }) }, /it has no rows/],
  [{ file: (file) => ({ ...file, byteLength: file.byteLength + 1 }) }, /bytes, not/],
  [{ file: (file) => ({ ...file, day: file.day + 1 }) }, /is not of its day/],
  [{ file: (file) => ({ ...file, sortOrderId: 1 }) }, /says that it is sorted by time, and is not/],
  [{ file: (file) => ({ ...file, keyMetadata: new Uint8Array(4) }) }, /is encrypted/],
  [{ drops: true }, /"append" deletes rows/],
  [{ drops: true, operation: "replace" }, /puts 2 rows in the place of 1/],
  [{ operation: "magic" }, /operation "magic" is not known/],
  [{ list: "file:///etc/passwd" }, /cannot be read here|outside/],
  [{ list: "s3://elsewhere/l.avro" }, /cannot be read here|outside/],
];

Deno.test({
  name: "what would mislead the service, or show another table's rows, is refused by name",
  async fn() {
    await using lab = await openLab();
    for (const [change, says] of REFUSED) {
      await assert.rejects(
        commit(lab, change),
        { code: "invalid_argument", reason: "commit_refused", message: says },
        String(says),
      );
      assert.deepEqual(await raws(lab), ["first"], String(says));
    }
  },
});

Deno.test({
  name: "names that only this service's own files have are refused",
  async fn() {
    await using lab = await openLab();
    const bytes = await lab.lab.store.get(lab.fresh.key);
    for (const end of ["-full.parquet", "-columns-ff.parquet"]) {
      const key = lab.fresh.key.replace(/\.parquet$/, end);
      await lab.lab.store.putNew(key, bytes);
      const location = `${lab.lab.store.rootUri}/${key}`;
      await assert.rejects(commit(lab, { file: (file) => ({ ...file, key, location }) }), {
        message: /only this service's own files do/,
      });
    }
  },
});

Deno.test({
  name: "a drop takes its place among commits: a table that is not there is not found",
  async fn() {
    await using lab = await openLab();
    const request = parseCommit(utf8('{"updates":[]}'));
    await assert.rejects(lab.commits.commit({ namespace: "svc", name: "none" }, request), {
      code: "not_found",
    });
    const audit = { namespace: "svc", name: "query_audit" };
    await assert.rejects(lab.commits.commit(audit, request), { reason: "commit_refused" });
  },
});
