/**
 * Pins: the state of a statement's tables as a text that a later statement reads again, so that the pages of one walk
 * see the same rows while ingest and drain go on.
 *
 * A pin names one committed snapshot per table, so a pinned statement reads no WAL: segments are consumed and swept,
 * snapshots stay as they are until they expire. A caller may write any pin; it leads to no table that the statement
 * could not read anyway.
 */

import { OperatingError } from "../base/errors.ts";
import { currentSchemaOf, type LoadedTable } from "../iceberg/iceberg_reader.ts";
import type { TablePlan } from "./plan.ts";

/** Asks for the newest committed snapshots, and for their pin. */
export const LATEST = "latest";

export interface PinnedTable {
  readonly uuid: string;
  /** null: nothing was committed. */
  readonly snapshotId: bigint | null;
}

/** By table name; a table that is not in it is read as it is now. */
export type SnapshotPin = ReadonlyMap<string, PinnedTable>;

const VERSION = "p1";
/** Tables of one statement are few; a longer text is none of ours. */
const PIN_LENGTH_MAX = 16_384;

export function encodePin(tables: readonly TablePlan[]): string {
  const entries = tables.map(({ name, tableUuid, snapshotId }) => [
    name,
    tableUuid ?? "",
    snapshotId === undefined ? null : String(snapshotId),
  ]);
  const bytes = new TextEncoder().encode(JSON.stringify(entries));
  return `${VERSION}.${bytes.toBase64({ alphabet: "base64url", omitPadding: true })}`;
}

/** An empty pin for `latest`. Errors: `invalid_argument` with reason `pin_malformed`. */
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
  if (!Array.isArray(entry) || entry.length !== 3) throw malformed();
  const [name, uuid, id] = entry as unknown[];
  if (typeof name !== "string" || typeof uuid !== "string") throw malformed();
  if (id !== null && (typeof id !== "string" || !/^-?\d{1,19}$/.test(id))) throw malformed();
  return [name, { uuid, snapshotId: id === null ? null : BigInt(id) }];
}

/**
 * `table` as `pin` says, columns included; undefined when nothing was committed then. Errors: `conflict` with reason
 * `pin_expired` when the snapshot is gone, or the table was made anew.
 */
export function pinned(
  name: string,
  table: LoadedTable | undefined,
  pin: SnapshotPin,
): LoadedTable | undefined {
  const wanted = pin.get(name);
  if (wanted?.snapshotId === null) return undefined;
  const id = wanted === undefined ? table?.snapshotId : wanted.snapshotId;
  if (id === undefined && wanted === undefined) return undefined;
  const snapshot = table?.metadata.snapshots.find((one) => one["snapshot-id"] === id);
  if (table === undefined || snapshot === undefined) throw expired(name);
  if (wanted !== undefined && wanted.uuid !== table.uuid) throw expired(name);
  const schemaId = snapshot["schema-id"] ?? table.schemaId;
  const metadata = {
    ...table.metadata,
    "current-snapshot-id": snapshot["snapshot-id"],
    "current-schema-id": schemaId,
  };
  return {
    ...table,
    metadata,
    schema: currentSchemaOf(metadata, table.metadataLocation),
    schemaId,
    snapshotId: snapshot["snapshot-id"],
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
