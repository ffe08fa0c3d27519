/**
 * One round of an ingester's mirror: every sealed segment that is not in the mirror is put there,
 * each lane's oldest first, at most `parallel` of them in memory. Tenants take turns of a few
 * segments, those as well whose segments are sealed meanwhile: a round of 1,000 lanes takes long. A
 * segment that cannot be read, or whose name another object has, holds up no other. Any other
 * failure stops the round. What it did stays done. README.md has the protocol.
 */

import { areSameBytes } from "../../base/bytes.ts";
import { isOperatingError, OperatingError } from "../../base/errors.ts";
import { type LaneId, laneName } from "../../tenant/tenant.ts";
import { mkdirDurable } from "../../os/durable_directory.ts";
import type { FileSystem } from "../../os/file_system.ts";
import { ThreadUnavailable } from "../../os/task_thread.ts";
import type { ObjectStore } from "../../storage/object_store.ts";
import {
  lanesIn,
  msOfSegmentName,
  pinPath,
  pinsDirectory,
  segmentNamesIn,
  segmentPath,
  stateDirectory,
  statIfPresent,
} from "../layout.ts";
import { removeIfPresent } from "../transfer.ts";
import { openMirrorWalReader } from "./mirror_wal_reader.ts";
import { isMirrorable, packedSegmentKey, segmentKey } from "./mirror_layout.ts";
import {
  fetchSegment,
  type PackedSegment,
  segmentBytesOf,
  type StoredSegment,
} from "./packed_segment.ts";
import type { SegmentPacker } from "./segment_packer.ts";

/** Segments of one turn of a lane; one sync of their directory pins them. */
const PINNED_MAX = 16;

export interface MirrorDeps {
  readonly fs: FileSystem;
  /** The root of the WAL, whose lock this process holds. */
  readonly root: string;
  readonly store: ObjectStore;
  /** Below the root of `store`, without a slash at its end. */
  readonly prefix: string;
  readonly parallel: number;
  /** Without it segments go as they are. */
  readonly packer?: SegmentPacker;
  /**
   * Whether the segment of this name is to be packed at the cost of whatever else there is to do;
   * default: each is.
   */
  readonly isUrgent?: (name: string) => boolean;
  /** Lanes that get a turn now, beside those of the round. Asked when each tenant had a turn. */
  readonly sealedMeanwhile?: () => readonly LaneId[];
  readonly onEvent: (event: MirrorEvent) => void;
}

export type MirrorEvent =
  | {
    readonly kind: "uploaded";
    readonly lane: LaneId;
    readonly segment: string;
    /** Bytes of the object. */
    readonly bytes: number;
  }
  /** The first bytes of one that is being written. */
  | {
    readonly kind: "copied";
    readonly lane: LaneId;
    readonly segment: string;
    readonly bytes: number;
  }
  /** Its rows were committed before its turn came. */
  | { readonly kind: "skipped"; readonly lane: LaneId; readonly segment: string };

/** What waits for its upload. */
export interface MirrorBacklog {
  readonly segments: number;
  readonly bytes: number;
  /** Unix ms at which the oldest was begun, at most; undefined when there is none. */
  readonly oldestMs: number | undefined;
}

/**
 * What of each lane is in the mirror: names of sealed segments, as far as they are still sealed
 * here.
 */
export type Mirrored = Map<string, Set<string>>;

/**
 * Mirrors the sealed segments of `lanes`, or of all there are. Errors: the store's, the file
 * system's; `corrupt` when an object with a segment's name is another.
 */
export async function mirrorSegments(
  deps: MirrorDeps,
  mirrored: Mirrored,
  signal: AbortSignal,
  lanes?: readonly LaneId[],
): Promise<void> {
  const faults = new Map<string, unknown>();
  const round = { mirrored, faults, signal };
  const all = (lanes ?? await lanesIn(deps.fs, deps.root)).map((lane): LaneUploads => ({ lane }));
  const left = Map.groupBy(all, ({ lane }) => lane.tenant);
  while (left.size > 0 && !signal.aborted) {
    for (const [tenant, own] of left) {
      const uploads = own[0];
      if (uploads === undefined) left.delete(tenant);
      else if (!await mirrorLane(deps, uploads, round)) own.shift();
    }
    for (const lane of deps.sealedMeanwhile?.() ?? []) await mirrorLane(deps, { lane }, round);
  }
  for (const fault of faults.values()) throw fault;
}

interface LaneUploads {
  readonly lane: LaneId;
  /** What waits: names, oldest first. Listed at the first turn. */
  queue?: string[];
}

interface MirrorRound {
  readonly mirrored: Mirrored;
  /** Segments that cannot be mirrored. They are tried once in a round. */
  readonly faults: Map<string, unknown>;
  readonly signal: AbortSignal;
}

/** One turn of a lane; whether it has more. */
async function mirrorLane(
  deps: MirrorDeps,
  uploads: LaneUploads,
  { mirrored, faults, signal }: MirrorRound,
): Promise<boolean> {
  const { lane } = uploads;
  if (!isMirrorable(lane)) return false;
  const queue = uploads.queue ??= await unmirrored(deps, lane, mirrored);
  const there = mirrored.get(laneName(lane)) ?? new Set();
  const pinned = queue.splice(0, PINNED_MAX)
    .filter((name) => !there.has(name) && !faults.has(name));
  if (pinned.length > 0) {
    await mkdirDurable(deps.fs, deps.root, pinsDirectory(deps.root, lane));
    await pin(deps, lane, pinned);
    await uploadPinned(deps, { lane, queue: pinned, there, faults, signal });
  }
  return queue.length > 0;
}

/** Which sealed segments of the lane are not in the mirror, oldest first. */
async function unmirrored(deps: MirrorDeps, lane: LaneId, mirrored: Mirrored): Promise<string[]> {
  const sealed = await sealedIn(deps, lane);
  const there = sealed.length === 0
    ? new Set<string>()
    : mirrored.get(laneName(lane)) ?? await listMirrored(deps, lane);
  const queue = sealed.filter((name) => !there.has(name));
  mirrored.set(laneName(lane), there);
  const still = new Set(sealed);
  for (const name of there) if (!still.has(name)) there.delete(name);
  await releasePins(deps, lane, new Set(queue));
  return queue;
}

/** What waits for the mirror now. */
export async function mirrorBacklog(
  deps: Pick<MirrorDeps, "fs" | "root">,
  mirrored: Mirrored,
): Promise<MirrorBacklog> {
  let [segments, bytes, oldestMs] = [0, 0, Infinity];
  for (const lane of await lanesIn(deps.fs, deps.root)) {
    if (!isMirrorable(lane)) continue;
    const there = mirrored.get(laneName(lane));
    for (const name of await sealedIn(deps, lane)) {
      if (there?.has(name)) continue;
      const path = segmentPath(deps.root, lane, { state: "sealed", name });
      const stat = await statIfPresent(deps.fs, path);
      if (stat === undefined) continue;
      segments += 1;
      bytes += stat.size;
      // Behind a clock that went back names stay at the time from which it went.
      oldestMs = Math.min(oldestMs, msOfSegmentName(name), stat.mtimeMs);
    }
  }
  return { segments, bytes, oldestMs: segments === 0 ? undefined : oldestMs };
}

function sealedIn(
  { fs, root }: Pick<MirrorDeps, "fs" | "root">,
  lane: LaneId,
): Promise<string[]> {
  return segmentNamesIn(fs, stateDirectory(root, lane, "sealed"));
}

/** Pins of an interrupted round: of segments that are committed, or in the mirror, by now. */
async function releasePins(
  { fs, root }: MirrorDeps,
  lane: LaneId,
  waiting: ReadonlySet<string>,
): Promise<void> {
  for (const name of await segmentNamesIn(fs, pinsDirectory(root, lane))) {
    if (!waiting.has(name)) await removeIfPresent(fs, pinPath(root, lane, name));
  }
}

async function listMirrored({ store, prefix }: MirrorDeps, lane: LaneId): Promise<Set<string>> {
  const segments = await openMirrorWalReader(store, prefix).list(lane, ["sealed"]);
  return new Set(segments.map(({ name }) => name));
}

interface Uploads {
  readonly lane: LaneId;
  /** Names, oldest first. */
  readonly queue: string[];
  readonly there: Set<string>;
  readonly faults: Map<string, unknown>;
  readonly signal: AbortSignal;
}

async function uploadPinned(deps: MirrorDeps, work: Uploads): Promise<void> {
  const { lane, queue, there, faults, signal } = work;
  let failed = false;
  const worker = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      if (failed || signal.aborted) return;
      try {
        if (await upload(deps, lane, name)) there.add(name);
      } catch (error) {
        if (isOfSegment(error)) {
          faults.set(name, error);
          continue;
        }
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: deps.parallel }, worker));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/** Whether others may be mirrored all the same. Errors of its file are no `OperatingError`. */
function isOfSegment(error: unknown): boolean {
  return !isOperatingError(error) || error.code === "corrupt" || error.code === "not_found";
}

/**
 * Keeps these segments from being swept and forgotten until their pins are removed, also past the
 * end of this process.
 */
export async function pin(
  { fs, root }: Pick<MirrorDeps, "fs" | "root">,
  lane: LaneId,
  names: readonly string[],
): Promise<void> {
  for (const name of names) await createIfMissing(fs, pinPath(root, lane, name));
  await fs.syncDir(pinsDirectory(root, lane));
}

/**
 * Uploads a segment; whether it is in the mirror now. After a failure its pin stays, since the
 * object may still come to be.
 */
async function upload(deps: MirrorDeps, lane: LaneId, name: string): Promise<boolean> {
  const { fs, root, prefix, onEvent } = deps;
  const path = segmentPath(root, lane, { state: "sealed", name });
  const copy = await readCopy(deps, { name, path });
  if (copy === undefined) {
    onEvent({ kind: "skipped", lane, segment: name });
  } else {
    const { object, bytes, isPacked } = copy;
    const key = isPacked
      ? packedSegmentKey(prefix, lane, name, copy)
      : segmentKey(prefix, lane, name);
    await putSegment(deps, { key, bytes, isPacked, object, path });
    onEvent({ kind: "uploaded", lane, segment: name, bytes: object.byteLength });
  }
  await removeIfPresent(fs, pinPath(root, lane, name));
  return copy !== undefined;
}

/** A segment as it is to be stored. */
export type SegmentCopy =
  | (PackedSegment & { readonly isPacked: true })
  | { readonly object: Uint8Array; readonly bytes: number; readonly isPacked: false };

/**
 * The segment's file, packed where that can be; undefined when it is gone. Errors: of the file
 * system, the packer.
 */
export async function readCopy(
  { fs, packer, isUrgent }: Pick<MirrorDeps, "fs" | "packer" | "isUrgent">,
  { name, path }: { readonly name: string; readonly path: string },
): Promise<SegmentCopy | undefined> {
  if (packer?.isAvailable === true) {
    try {
      const packed = await packer.packFile(path, { isUrgent: isUrgent?.(name) ?? true });
      return packed && { ...packed, isPacked: true };
    } catch (error) {
      if (!(error instanceof ThreadUnavailable)) throw error;
    }
  }
  const object = await readIfPresent(fs, path);
  return object && { object, bytes: object.byteLength, isPacked: false };
}

/**
 * An object that is there with the same segment is an upload whose answer was lost: names are
 * random.
 */
async function putSegment(
  { fs, store }: MirrorDeps,
  segment: Omit<StoredSegment, "storedBytes"> & {
    readonly object: Uint8Array;
    readonly path: string;
  },
): Promise<void> {
  const { key, object, path } = segment;
  try {
    await store.putNew(key, object);
  } catch (error) {
    if (!isOperatingError(error, "conflict")) throw error;
    const { size: storedBytes } = await store.head(key);
    const stored = { ...segment, storedBytes };
    const there = segmentBytesOf(await fetchSegment(store, stored), stored);
    const ours = await readIfPresent(fs, path);
    // Gone: its rows are in a table, whatever that object is.
    if (ours === undefined || areSameBytes(there, ours)) return;
    throw new OperatingError(
      "corrupt",
      `cannot mirror WAL segment ${key}: an object of its name holds ${there.byteLength} bytes that are ` +
        `others; look who else writes there, and move that object away`,
      { reason: "mirror_object_differs", cause: error },
    );
  }
}

async function createIfMissing(fs: FileSystem, path: string): Promise<void> {
  try {
    await using _file = await fs.create(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}

async function readIfPresent(
  fs: FileSystem,
  path: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return await fs.readFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
