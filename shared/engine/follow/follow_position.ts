/**
 * Where a follower of a table is: a place in the WAL lane, and the newest snapshot that was looked
 * at. Clients keep it as a text: `t1.` and, in base64url, the JSON list of table, uuid, snapshot
 * id, segment, rows and done. It gives no right: with any text a follower reads only what its
 * caller may read.
 */

import { OperatingError } from "../../base/errors.ts";

/** A place in a lane, behind all earlier segments and the first `rows` of `segment`. */
export interface LanePosition {
  /** Empty: before the first one. */
  readonly segment: string;
  readonly rows: number;
  /** Whether nothing of the segment is left. */
  readonly isDone: boolean;
}

/** A place in a table that is followed. */
export interface FollowPosition {
  readonly table: string;
  /** The table's incarnation; empty before its first commit. */
  readonly uuid: string;
  /** Undefined before the first commit. */
  readonly snapshotId: bigint | undefined;
  readonly lane: LanePosition;
}

export const LANE_START: LanePosition = { segment: "", rows: 0, isDone: true };

const VERSION = "t1.";
const LENGTH_MAX = 1_024;
const SEGMENT = /^(?:\d{13}-\d{4}-[0-9a-f]{16}\.seg)?$/;

/** Writes a position; `decodePosition` reads it. */
export function encodePosition({ table, uuid, snapshotId, lane }: FollowPosition): string {
  const list = [
    ...[table, uuid, snapshotId === undefined ? null : String(snapshotId)],
    ...[lane.segment, lane.rows, lane.isDone],
  ];
  const bytes = new TextEncoder().encode(JSON.stringify(list));
  return VERSION + bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Errors: `invalid_argument` (`bad_position`) for a text that is none of `table`. */
export function decodePosition(text: string, table: string): FollowPosition {
  const list = listOf(text);
  const [name, uuid, id, segment, rows, isDone] = list;
  const isOurs = list.length === 6 && name === table && typeof uuid === "string" &&
    (id === null || (typeof id === "string" && /^-?\d{1,19}$/.test(id))) &&
    typeof segment === "string" && SEGMENT.test(segment) &&
    Number.isSafeInteger(rows) && Number(rows) >= 0 && typeof isDone === "boolean";
  if (!isOurs) throw badPosition(text, table);
  return {
    table,
    uuid,
    snapshotId: id === null ? undefined : BigInt(String(id)),
    lane: { segment, rows: Number(rows), isDone },
  };
}

function listOf(text: string): readonly unknown[] {
  if (!text.startsWith(VERSION) || text.length > LENGTH_MAX) return [];
  try {
    const bytes = Uint8Array.fromBase64(text.slice(VERSION.length), { alphabet: "base64url" });
    const list: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

function badPosition(text: string, table: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot follow ${table} from Last-Event-ID ${JSON.stringify(text.slice(0, 80))}: give the id ` +
      "of an event of this table's tail unchanged, or leave it out to begin now",
    { reason: "bad_position" },
  );
}
