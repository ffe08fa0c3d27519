/**
 * Names of a mirror's objects, below the warehouse's root: the only place that knows them.
 * README.md has the protocol.
 *
 * A prefix is kept without the slash at its end. `_active` is no tenant of a mirror: its name is
 * taken.
 */

import { assert } from "../../base/assert.ts";
import { OperatingError } from "../../base/errors.ts";
import { DEFAULT_NAMESPACE, DEFAULT_TENANT, type LaneId } from "../../tenant/tenant.ts";
import { checkKey } from "../../storage/object_key.ts";
import { isLanePart, isSegmentName } from "../layout.ts";

export const MIRROR_PREFIX_DEFAULT = "wal-mirror/";

const ACTIVE = "_active";
const PACKED = ".zst";
const FILE = /^(.+\.seg)(?:\.(\d{12}))?(?:\.(\d{12}))?(\.zst)?$/;
const LENGTH_DIGITS = 12;

/** What the key of a mirrored object says. */
export interface MirrorObject {
  readonly lane: LaneId;
  /** The segment's name. */
  readonly name: string;
  /** A copy of the first bytes of one that is being written. */
  readonly isActive: boolean;
  /** Compressed: `packed_segment.ts`. */
  readonly isPacked: boolean;
  /** How many bytes of the segment it holds; undefined when the object is as long. */
  readonly bytes: number | undefined;
  /**
   * What the segment's messages take unpacked, of a sealed one that is packed; undefined where
   * nothing tells.
   */
  readonly messageBytes: number | undefined;
}

/**
 * The prefix without slashes at its end; empty: no mirror. `text` is what the option says, if
 * anything. Errors: `invalid_argument` for one that is no prefix of object keys.
 */
export function parseMirrorPrefix(
  text: string | undefined,
  options: { readonly hasWarehouseUrl: boolean },
): string {
  const prefix = text ?? (options.hasWarehouseUrl ? MIRROR_PREFIX_DEFAULT : "");
  const bare = prefix.replace(/\/+$/, "");
  if (prefix === "") return "";
  if (bare.split("/")[0] === DEFAULT_NAMESPACE) throw amongTables(prefix);
  try {
    return checkKey(bare);
  } catch (cause) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot mirror the WAL to --wal-mirror-prefix ${JSON.stringify(prefix)}: give a relative ` +
        `path without "..", for example ${MIRROR_PREFIX_DEFAULT}, or nothing for no mirror`,
      { reason: "bad_mirror_prefix", cause },
    );
  }
}

/**
 * The folder among the tenants' namespaces that holds the mirror, after which nobody may be called;
 * undefined: none.
 */
export function mirrorFolderOf(prefix: string): string | undefined {
  const [folder = ""] = prefix.split("/");
  // The default tenant's namespace is another one.
  return folder === "" || folder === DEFAULT_TENANT ? undefined : folder;
}

/** What removes unused files of tables would take segments for such. */
function amongTables(prefix: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot mirror the WAL to --wal-mirror-prefix ${
      JSON.stringify(prefix)
    }: ${DEFAULT_NAMESPACE}/ of the ` +
      `warehouse holds the tables of tenant ${DEFAULT_TENANT}; give another, for example ${MIRROR_PREFIX_DEFAULT}`,
    { reason: "bad_mirror_prefix" },
  );
}

/** Whether a lane has a place in a mirror. */
export function isMirrorable({ tenant, index }: LaneId): boolean {
  return tenant !== ACTIVE && isLanePart(tenant) && isLanePart(index);
}

/** `<prefix>/<tenant>/<index>/<segment>.seg`: a sealed segment as it is. */
export function segmentKey(prefix: string, lane: LaneId, name: string): string {
  assert(isSegmentName(name), `segment name ${JSON.stringify(name)}`);
  return `${lanePrefix(prefix, lane)}${name}`;
}

/** Lengths of a segment that an object's name tells, so that a list tells how much waits. */
export interface SegmentLengths {
  /** Bytes of the segment's file. */
  readonly bytes: number;
  /** Bytes of its messages, unpacked. */
  readonly messageBytes: number;
}

/**
 * `<prefix>/<tenant>/<index>/<segment>.seg.<bytes, 12 digits>.<message bytes, 12 digits>.zst`: the
 * same, packed.
 */
export function packedSegmentKey(
  prefix: string,
  lane: LaneId,
  name: string,
  { bytes, messageBytes }: SegmentLengths,
): string {
  const lengths = `${digitsOf(bytes)}.${digitsOf(messageBytes)}`;
  return `${segmentKey(prefix, lane, name)}.${lengths}${PACKED}`;
}

/** The prefix of the sealed segments of a lane. */
export function lanePrefix(prefix: string, lane: LaneId): string {
  assert(isMirrorable(lane), `lane ${JSON.stringify(lane)} of a mirror`);
  return `${prefix}/${lane.tenant}/${lane.index}/`;
}

/**
 * `<prefix>/_active/<tenant>/<index>/<segment>.seg.<bytes, 12 digits>`: an object never changes, so
 * a longer copy is another one, and the shorter goes when it is there.
 */
export function activeKey(prefix: string, lane: LaneId, name: string, bytes: number): string {
  return `${activePrefix(prefix, lane, name)}${digitsOf(bytes)}`;
}

/** The key of a packed copy: `bytes` are those of the segment. */
export function packedActiveKey(prefix: string, lane: LaneId, name: string, bytes: number): string {
  return `${activeKey(prefix, lane, name, bytes)}${PACKED}`;
}

/** The prefix of the copies of one active segment. */
function activePrefix(prefix: string, lane: LaneId, name: string): string {
  assert(isSegmentName(name), `segment name ${JSON.stringify(name)}`);
  return `${activeLanePrefix(prefix, lane)}${name}.`;
}

/** The prefix of the copies of all active segments of a lane. */
export function activeLanePrefix(prefix: string, lane: LaneId): string {
  assert(isMirrorable(lane), `lane ${JSON.stringify(lane)} of a mirror`);
  return `${prefix}/${ACTIVE}/${lane.tenant}/${lane.index}/`;
}

/** What an object of the mirror is; undefined for any other key. */
export function parseMirrorKey(prefix: string, key: string): MirrorObject | undefined {
  if (!key.startsWith(`${prefix}/`)) return undefined;
  const parts = key.slice(prefix.length + 1).split("/");
  const isActive = parts[0] === ACTIVE;
  const [tenant = "", index = "", file = "", ...more] = isActive ? parts.slice(1) : parts;
  const lane = { tenant, index };
  if (more.length > 0 || !isMirrorable(lane)) return undefined;
  const [, name = "", digits, messageDigits, packed] = FILE.exec(file) ?? [];
  const isPacked = packed !== undefined;
  // A sealed one as it is tells no length, all others do; what its messages take, a sealed one that
  // is packed.
  if (!isSegmentName(name) || (digits === undefined) !== (!isActive && !isPacked)) return undefined;
  if (messageDigits !== undefined && (isActive || !isPacked)) return undefined;
  return {
    lane,
    name,
    isActive,
    isPacked,
    bytes: digits === undefined ? undefined : Number(digits),
    messageBytes: messageDigits === undefined ? undefined : Number(messageDigits),
  };
}

function digitsOf(bytes: number): string {
  return String(bytes).padStart(LENGTH_DIGITS, "0");
}
