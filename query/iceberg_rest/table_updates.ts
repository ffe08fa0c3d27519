/**
 * Updates that an engine asks for, applied to a table's metadata: a value in, a value out. What
 * would break what this service relies on is refused by name, with what to do instead.
 */

import { z } from "zod";
import type { SchemaJson } from "../../shared/iceberg/schema_json.ts";
import { SCHEMA_JSON } from "../../shared/iceberg/schema_json.ts";
import {
  encodeTableMetadata,
  FORMAT_VERSION,
  parseTableMetadata,
  type TableMetadata,
} from "../../shared/iceberg/table_metadata.ts";
import { isOperatingError, messageOf } from "../../shared/base/errors.ts";
import { losslessJson } from "../../shared/iceberg/lossless_json.ts";
import { isUnasked } from "../../shared/schema/promoted.ts";
import { parsed, refusedCommit, type TableUpdate } from "./commit_request.ts";

const ID = z.union([z.int(), z.bigint()]).transform((value) => BigInt(value));
const MAIN = "main";
/** Properties of a table, and characters of one, at most. */
const PROPERTIES_MAX = 1_000;
const PROPERTY_LENGTH_MAX = 65_536;
const NAME_MAPPING = "schema.name-mapping.default";
/** The last one that was added. */
const LAST_ADDED = -1;

/** Metadata on its way to the next version. */
interface Draft {
  readonly nowMs: number;
  /** The table as it is. */
  readonly base: TableMetadata;
  metadata: TableMetadata;
  addedSchemaId: number | undefined;
  readonly addedSnapshotIds: bigint[];
}

export interface UpdatedTable {
  readonly metadata: TableMetadata;
  /** The snapshots that were added, each following the one before. */
  readonly snapshotIds: readonly bigint[];
}

/** Errors: `invalid_argument` (`commit_refused`). */
export function updatedTable(
  base: TableMetadata,
  updates: readonly TableUpdate[],
  nowMs: number,
): UpdatedTable {
  const draft: Draft = {
    ...{ base, nowMs, metadata: base },
    ...{ addedSchemaId: undefined, addedSnapshotIds: [] },
  };
  for (const update of updates) {
    const apply = UPDATES[update.action];
    if (apply === undefined) throw refusedCommit(refusalOf(update.action));
    apply(update, draft);
  }
  const { addedSnapshotIds: snapshotIds } = draft;
  const snapshotId = snapshotIds.at(-1);
  if (snapshotId !== undefined && draft.metadata["current-snapshot-id"] !== snapshotId) {
    throw refusedCommit(
      `snapshot ${snapshotId} is not to be the current one of branch main: other branches and ` +
        "staged snapshots are not read here; commit to main",
    );
  }
  const metadata = reparsed({
    ...draft.metadata,
    "last-updated-ms": Math.max(nowMs, draft.metadata["last-updated-ms"]),
  });
  checkColumns(base, metadata);
  return { metadata, snapshotIds };
}

type ApplyUpdate = (update: TableUpdate, draft: Draft) => void;

const UPDATES: Readonly<Record<string, ApplyUpdate>> = {
  "assign-uuid": (update, { base }) => mustBe(update, "uuid", base["table-uuid"]),
  "upgrade-format-version": (update) => mustBe(update, "format-version", FORMAT_VERSION),
  "set-location": (update, { base }) => mustBe(update, "location", base.location),
  "set-default-spec": (update, { base }) => mustBe(update, "spec-id", base["default-spec-id"]),
  "set-default-sort-order": (update, { base }) =>
    mustBe(update, "sort-order-id", base["default-sort-order-id"]),
  "add-schema": addSchema,
  "set-current-schema": setCurrentSchema,
  "add-snapshot": addSnapshot,
  "set-snapshot-ref": setSnapshotRef,
  "remove-snapshot-ref": removeSnapshotRef,
  "set-properties": setProperties,
  "remove-properties": removeProperties,
};

/** Why updates that the protocol has are not taken. */
const REFUSALS: Readonly<Record<string, string>> = {
  "add-spec": "tables are partitioned by day(timestamp) alone; leave the partition spec as it is",
  "remove-partition-specs": "the partition spec stays as it is",
  "add-sort-order": "tables are sorted by timestamp and timestamp_ns; leave the order as it is",
  "remove-snapshots":
    "the compactor expires snapshots, with the files that nobody reads any more; set the table's " +
    "property history.expire.max-snapshot-age-ms to keep them for longer or shorter",
  "remove-schemas": "older files and snapshots name them; they stay",
};

function refusalOf(action: string): string {
  const why = REFUSALS[action] ?? "this catalog does not know it; leave it out";
  return `update ${JSON.stringify(action)} is not taken: ${why}`;
}

function mustBe(update: TableUpdate, member: string, own: unknown): void {
  if (update[member] === own) return;
  throw refusedCommit(
    `update ${JSON.stringify(update.action)} to ${
      JSON.stringify(update[member])
    }: it is and stays ` +
      JSON.stringify(own),
  );
}

const ADD_SCHEMA = z.looseObject({ schema: SCHEMA_JSON });

function addSchema(update: TableUpdate, draft: Draft): void {
  const { schema } = parsed(ADD_SCHEMA, update, "add-schema");
  const { metadata } = draft;
  const same = metadata.schemas.find((one) =>
    losslessJson(one.fields) === losslessJson(schema.fields)
  );
  if (same !== undefined) {
    draft.addedSchemaId = same["schema-id"];
    return;
  }
  const id = Math.max(...metadata.schemas.map((one) => one["schema-id"])) + 1;
  draft.addedSchemaId = id;
  draft.metadata = {
    ...metadata,
    schemas: [...metadata.schemas, { ...schema, "schema-id": id }],
    "last-column-id": Math.max(metadata["last-column-id"], ...schema.fields.map((one) => one.id)),
  };
}

function setCurrentSchema(update: TableUpdate, draft: Draft): void {
  const asked = update["schema-id"];
  const id = asked === LAST_ADDED ? draft.addedSchemaId : asked;
  const schema = draft.metadata.schemas.find((one) => one["schema-id"] === id);
  if (schema === undefined) throw refusedCommit(`the table has no schema ${String(asked)}`);
  draft.metadata = { ...draft.metadata, "current-schema-id": schema["schema-id"] };
}

const ADD_SNAPSHOT = z.looseObject({
  snapshot: z.looseObject({
    "snapshot-id": ID,
    "parent-snapshot-id": ID.nullish(),
    "sequence-number": ID,
    "timestamp-ms": z.int(),
    "manifest-list": z.string(),
    summary: z.record(z.string(), z.string()),
    "schema-id": z.int().nullish(),
  }),
});

const SNAPSHOTS_MAX = 16;
/** How far an engine's clock may be off. */
const CLOCK_MS_MAX = 60_000;

function addSnapshot(update: TableUpdate, draft: Draft): void {
  const { snapshot } = parsed(ADD_SNAPSHOT, update, "add-snapshot");
  const { metadata, nowMs } = draft;
  const id = snapshot["snapshot-id"];
  if (draft.addedSnapshotIds.length === SNAPSHOTS_MAX) {
    throw refusedCommit(`it adds more than ${SNAPSHOTS_MAX} snapshots; commit them one by one`);
  }
  if (id <= 0n || metadata.snapshots.some((one) => one["snapshot-id"] === id)) {
    throw refusedCommit(`snapshot ${id} is there already, or no id`);
  }
  const current = metadata["current-snapshot-id"];
  const table = typeof current === "bigint" && current !== -1n ? current : undefined;
  const parent = draft.addedSnapshotIds.at(-1) ?? table;
  if ((snapshot["parent-snapshot-id"] ?? undefined) !== parent) {
    throw refusedCommit(
      `snapshot ${id} does not follow the current one, ${
        parent ?? "none"
      }; rows since then would ` +
        "be lost",
    );
  }
  if (snapshot["sequence-number"] !== metadata["last-sequence-number"] + 1n) {
    throw refusedCommit(
      `snapshot ${id} has sequence number ${snapshot["sequence-number"]}; the next is ` +
        `${metadata["last-sequence-number"] + 1n}`,
    );
  }
  const own = Object.keys(snapshot.summary).find((name) => name.startsWith("svc."));
  if (own !== undefined) throw refusedCommit(`member ${own} of a summary is this service's own`);
  const atMs = snapshot["timestamp-ms"];
  const lastMs = metadata["last-updated-ms"];
  if (atMs > nowMs + CLOCK_MS_MAX || atMs < Math.min(lastMs, nowMs) - CLOCK_MS_MAX) {
    throw refusedCommit(
      `snapshot ${id} is of ${new Date(atMs).toISOString()}, the server's clock says ` +
        `${new Date(nowMs).toISOString()}; set the clocks`,
    );
  }
  draft.addedSnapshotIds.push(id);
  draft.metadata = {
    ...metadata,
    "last-sequence-number": snapshot["sequence-number"],
    "last-updated-ms": Math.max(lastMs, atMs),
    snapshots: [...metadata.snapshots, snapshot],
  };
}

const REF = z.looseObject({ "ref-name": z.string(), type: z.string(), "snapshot-id": ID });

function setSnapshotRef(update: TableUpdate, draft: Draft): void {
  const { "ref-name": name, type, "snapshot-id": id, ...rest } = parsed(REF, update, "a ref");
  const { metadata } = draft;
  const snapshot = metadata.snapshots.find((one) => one["snapshot-id"] === id);
  if (snapshot === undefined) throw refusedCommit(`the table has no snapshot ${id}`);
  const { action: _, ...settings } = rest;
  const refs = { ...metadata.refs, [name]: { ...settings, "snapshot-id": id, type } };
  if (name !== MAIN) {
    if (type !== "tag") {
      throw refusedCommit(`branch ${JSON.stringify(name)}: there is main alone; tags may be made`);
    }
    draft.metadata = { ...metadata, refs };
    return;
  }
  if (id === draft.base["current-snapshot-id"]) {
    draft.metadata = { ...metadata, refs };
    return;
  }
  if (id !== draft.addedSnapshotIds.at(-1)) {
    throw refusedCommit(
      `branch main cannot go to snapshot ${id}: rows that were acknowledged since would be lost. ` +
        "Read the table as of that snapshot, or delete rows",
    );
  }
  const logged = { "timestamp-ms": snapshot["timestamp-ms"], "snapshot-id": id };
  draft.metadata = {
    ...metadata,
    "current-snapshot-id": id,
    "snapshot-log": [...metadata["snapshot-log"], logged],
    refs,
  };
}

function removeSnapshotRef(update: TableUpdate, draft: Draft): void {
  const { metadata } = draft;
  const name = String(update["ref-name"]);
  if (name === MAIN) throw refusedCommit("branch main stays");
  const refs = Object.fromEntries(Object.entries(metadata.refs).filter(([one]) => one !== name));
  draft.metadata = { ...metadata, refs };
}

const SET_PROPERTIES = z.looseObject({ updates: z.record(z.string(), z.string()) });
const REMOVE_PROPERTIES = z.looseObject({ removals: z.array(z.string()) });

function setProperties(update: TableUpdate, draft: Draft): void {
  const { updates } = parsed(SET_PROPERTIES, update, "set-properties");
  for (const [name, value] of Object.entries(updates)) {
    refuseOwn(name);
    if (name.length + value.length > PROPERTY_LENGTH_MAX && name !== NAME_MAPPING) {
      throw refusedCommit(`property ${JSON.stringify(name.slice(0, 100))} is too long`);
    }
  }
  const properties = { ...draft.metadata.properties, ...updates };
  if (Object.keys(properties).length > PROPERTIES_MAX) {
    throw refusedCommit(`the table would have more than ${PROPERTIES_MAX} properties`);
  }
  draft.metadata = { ...draft.metadata, properties };
}

function removeProperties(update: TableUpdate, draft: Draft): void {
  const { removals } = parsed(REMOVE_PROPERTIES, update, "remove-properties");
  const gone = new Set(removals);
  gone.forEach(refuseOwn);
  const kept = Object.entries(draft.metadata.properties).filter(([name]) => !gone.has(name));
  draft.metadata = { ...draft.metadata, properties: Object.fromEntries(kept) };
}

function refuseOwn(name: string): void {
  if (!name.startsWith("svc.")) return;
  throw refusedCommit(`property ${JSON.stringify(name)} is this service's own`);
}

/** The metadata that a reader of the file will have. */
function reparsed(metadata: TableMetadata): TableMetadata {
  try {
    return parseTableMetadata(encodeTableMetadata(metadata), "of the commit");
  } catch (error) {
    if (!isOperatingError(error)) throw error;
    throw refusedCommit(messageOf(error));
  }
}

/** Columns stay as they are; others may come, if rows need not have them. */
function checkColumns(base: TableMetadata, next: TableMetadata): void {
  const before = currentFields(base);
  const after = currentFields(next);
  const byId = new Map(after.map((field) => [field.id, field]));
  const known = new Set(before.map(({ id }) => id));
  for (const { id, name, type, required } of before) {
    const field = byId.get(id);
    if (field?.name === name && field.type === type && field.required === required) continue;
    throw refusedCommit(
      `column ${
        JSON.stringify(name)
      } (id ${id}) would go or change; ingest writes it. Columns may ` +
        "be added, and no others changed",
    );
  }
  const names = new Set(before.map(({ name }) => name.toLowerCase()));
  for (const { id, name, required } of after) {
    if (known.has(id)) continue;
    if (required) throw refusedCommit(`column ${JSON.stringify(name)} is required; rows lack it`);
    if (isUnasked(name) || names.has(name.toLowerCase())) {
      throw refusedCommit(
        `column ${JSON.stringify(name)} has a name that is taken; choose another`,
      );
    }
    if (id <= base["last-column-id"]) {
      throw refusedCommit(`column ${JSON.stringify(name)} has the id of an earlier column, ${id}`);
    }
    names.add(name.toLowerCase());
  }
}

function currentFields({ schemas, "current-schema-id": id }: TableMetadata): SchemaJson["fields"] {
  return schemas.find((one) => one["schema-id"] === id)?.fields ?? [];
}
