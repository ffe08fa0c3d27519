/**
 * Writes and reads snapshot pins. A snapshot pin is the state of a statement's tables as a text
 * that a later statement reads again. So the pages of one walk see the same rows while ingest and
 * drain go on.
 *
 * A snapshot pin names one committed snapshot per table. A statement with one reads no WAL, because
 * segments are consumed and swept, while snapshots stay as they are until they expire. A caller may
 * write any text: it leads to no table that the statement could not read anyway.
 */

import { OperatingError } from "../../base/errors.ts";
import { currentSchemaOf, type LoadedTable } from "../../iceberg/iceberg_reader.ts";
import type { TablePlan } from "./plan.ts";

/** The text that asks for the newest committed snapshots, and for their pin. */
export const LATEST = "latest";

/** What a snapshot pin says of one table. */
export interface PinnedTable {
  readonly uuid: string;
  /** Id of the snapshot; null: nothing was committed. */
  readonly snapshotId: bigint | null;
  /**
   * Id of the schema when the pin was given, which may be newer than the snapshot. Undefined: the
   * snapshot's own.
   */
  readonly schemaId?: number;
}

/**
 * Tables of a snapshot pin, by their names. A table that is not among them is read as it is now.
 */
export type SnapshotPin = ReadonlyMap<string, PinnedTable>;

const VERSION = "p1";
/** Tables of one statement are few; a longer text is none of ours. */
const PIN_LENGTH_MAX = 16_384;

/**
 * Writes the snapshots of `tables` as a snapshot pin: `p1.` and, in base64url, a JSON list. Each
 * table is `[name, uuid, snapshot id, schema id]`. The snapshot id is digits in quotes, or null
 * before the first commit. A table that is not there has an empty uuid and no schema id.
 */
export function encodePin(tables: readonly TablePlan[]): string {
  return encoded(tables.map(({ name, version }) => [
    name,
    version?.uuid ?? "",
    version?.snapshotId === undefined ? null : String(version.snapshotId),
    ...(version === undefined ? [] : [version.schemaId]),
  ]));
}

/** Writes a pin of one snapshot of `table`, with the columns that the table has now. */
export function pinOf({ ident, uuid, schemaId }: LoadedTable, snapshotId: bigint): string {
  return encoded([[ident.name, uuid, String(snapshotId), schemaId]]);
}

function encoded(entries: readonly unknown[]): string {
  const bytes = new TextEncoder().encode(JSON.stringify(entries));
  return `${VERSION}.${bytes.toBase64({ alphabet: "base64url", omitPadding: true })}`;
}

/**
 * Reads a snapshot pin; `latest` gives one that names no table. Errors: `invalid_argument` with
 * reason `pin_malformed`.
 */
export function decodePin(text: string): SnapshotPin {
  if (text === LATEST) return new Map();
  const [version, body, ...more] = text.split(".");
  if (
    version !== VERSION || body === undefined || more.length > 0 || text.length > PIN_LENGTH_MAX
  ) {
    throw malformed();
  }
  try {
    const bytes = Uint8Array.fromBase64(body, { alphabet: "base64url" });
    const entries: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (!Array.isArray(entries)) throw malformed();
    return new Map(entries.map(entryOf));
  } catch {
    throw malformed();
  }
}

function entryOf(entry: unknown): [string, PinnedTable] {
  if (!Array.isArray(entry) || entry.length < 3 || entry.length > 4) throw malformed();
  const [name, uuid, id, schemaId] = entry as unknown[];
  if (typeof name !== "string" || typeof uuid !== "string") throw malformed();
  if (id !== null && (typeof id !== "string" || !/^-?\d{1,19}$/.test(id))) throw malformed();
  if (schemaId !== undefined && !Number.isSafeInteger(schemaId)) throw malformed();
  return [name, {
    uuid,
    snapshotId: id === null ? null : BigInt(id),
    ...(schemaId === undefined ? {} : { schemaId: Number(schemaId) }),
  }];
}

/**
 * Returns `table` as `pin` says, columns included; as it is now where the pin does not name it. A
 * change of columns makes no snapshot, so the newest snapshot may have fewer than the table. The
 * table is undefined when nothing was committed then. Errors: `conflict` with reason `pin_expired`
 * when the snapshot is gone, or the table was made anew.
 */
export function pinned(
  name: string,
  table: LoadedTable | undefined,
  pin: SnapshotPin,
): LoadedTable | undefined {
  const wanted = pin.get(name);
  if (wanted === undefined) return table;
  const { snapshotId, schemaId: schemaThen } = wanted;
  // Before its first commit, a table may have columns, or not be there.
  if (snapshotId === null && schemaThen === undefined) return undefined;
  const snapshot = table?.metadata.snapshots.find((one) => one["snapshot-id"] === snapshotId);
  if (table === undefined || (snapshotId !== null && snapshot === undefined)) throw expired(name);
  if (wanted.uuid !== table.uuid) throw expired(name);
  const schemaId = schemaThen ?? snapshot?.["schema-id"] ?? table.schemaId;
  if (!table.metadata.schemas.some((one) => one["schema-id"] === schemaId)) throw expired(name);
  const metadata = {
    ...table.metadata,
    "current-snapshot-id": snapshotId,
    "current-schema-id": schemaId,
  };
  return {
    ...table,
    metadata,
    schema: currentSchemaOf(metadata, table.metadataLocation),
    schemaId,
    snapshotId: snapshotId ?? undefined,
  };
}

function malformed(): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot read the snapshot pin: give "${LATEST}" or what stats.snapshot of an earlier answer said, unchanged`,
    { reason: "pin_malformed" },
  );
}

function expired(name: string): OperatingError {
  return new OperatingError(
    "conflict",
    `Cannot read ${JSON.stringify(name)} as the snapshot pin says: that snapshot has expired; ` +
      `begin the walk again with "snapshot":"${LATEST}"`,
    { reason: "pin_expired" },
  );
}
