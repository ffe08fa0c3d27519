/**
 * One round of an ingester's mirror: every sealed segment that is not in the mirror is put there, oldest first, at most
 * `parallel` of them in memory. Stops at the first failure; what it did stays done. README.md has the protocol.
 */

import { isOperatingError, OperatingError } from "../../base/errors.ts";
import { type LaneId, laneName } from "../../event/tenant.ts";
import { mkdirDurable } from "../../os/durable_directory.ts";
import type { FileSystem } from "../../os/file_system.ts";
import type { ObjectStore } from "../../storage/object_store.ts";
import {
  lanesIn,
  pinPath,
  pinsDirectory,
  segmentNamesIn,
  segmentPath,
  stateDirectory,
  statIfPresent,
} from "../layout.ts";
import { removeIfPresent } from "../transfer.ts";
import { openMirrorWalReader } from "./mirror_wal_reader.ts";
import { isMirrorable, segmentKey } from "./mirror_layout.ts";

export interface MirrorDeps {
  readonly fs: FileSystem;
  /** Of the WAL, whose lock this process holds. */
  readonly root: string;
  readonly store: ObjectStore;
  /** Below the root of `store`, without a slash at its end. */
  readonly prefix: string;
  readonly parallel: number;
  readonly onEvent: (event: MirrorEvent) => void;
}

export type MirrorEvent =
  | {
    readonly kind: "uploaded";
    readonly lane: LaneId;
    readonly segment: string;
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

export interface MirrorBacklog {
  readonly segments: number;
  readonly bytes: number;
  /** Unix ms at which the oldest was begun; undefined when there is none. */
  readonly oldestMs: number | undefined;
}

/** What of each lane is in the mirror: names of sealed segments, as far as they are still sealed here. */
export type Mirrored = Map<string, Set<string>>;

/** Errors: of the store, of the file system; `corrupt` when an object with a segment's name is another. */
export async function mirrorSegments(
  deps: MirrorDeps,
  mirrored: Mirrored,
  signal: AbortSignal,
): Promise<void> {
  for (const lane of await lanesIn(deps.fs, deps.root)) {
    if (!isMirrorable(lane)) continue;
    const sealed = await sealedIn(deps, lane);
    const there = sealed.length === 0
      ? new Set<string>()
      : mirrored.get(laneName(lane)) ?? await listMirrored(deps, lane);
    const queue = sealed.filter((name) => !there.has(name));
    mirrored.set(laneName(lane), there);
    const still = new Set(sealed);
    for (const name of there) if (!still.has(name)) there.delete(name);
    await releasePins(deps, lane, new Set(queue));
    await uploadAll(deps, { lane, queue, there, signal });
  }
}

/** What waits for the mirror now. */
export async function mirrorBacklog(deps: MirrorDeps, mirrored: Mirrored): Promise<MirrorBacklog> {
  let [segments, bytes, oldest] = [0, 0, ""];
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
      if (oldest === "" || name < oldest) oldest = name;
    }
  }
  return { segments, bytes, oldestMs: oldest === "" ? undefined : Number(oldest.slice(0, 13)) };
}

function sealedIn({ fs, root }: MirrorDeps, lane: LaneId): Promise<string[]> {
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

async function uploadAll(
  deps: MirrorDeps,
  work: { lane: LaneId; queue: string[]; there: Set<string>; signal: AbortSignal },
): Promise<void> {
  const { lane, queue, there, signal } = work;
  if (queue.length === 0) return;
  await mkdirDurable(deps.fs, deps.root, pinsDirectory(deps.root, lane));
  let failed = false;
  const worker = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      if (failed || signal.aborted) return;
      try {
        if (await upload(deps, lane, name)) there.add(name);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: deps.parallel }, worker));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/** Whether it is in the mirror now. After a failure its pin stays, as the object may still come to be. */
async function upload(deps: MirrorDeps, lane: LaneId, name: string): Promise<boolean> {
  const { fs, root, store, prefix, onEvent } = deps;
  const pin = pinPath(root, lane, name);
  await createIfMissing(fs, pin);
  await fs.syncDir(pinsDirectory(root, lane));
  const bytes = await readIfPresent(fs, segmentPath(root, lane, { state: "sealed", name }));
  if (bytes === undefined) {
    onEvent({ kind: "skipped", lane, segment: name });
  } else {
    await putSegment(store, segmentKey(prefix, lane, name), bytes);
    onEvent({ kind: "uploaded", lane, segment: name, bytes: bytes.byteLength });
  }
  await removeIfPresent(fs, pin);
  return bytes !== undefined;
}

/** An object that is there with the same length is an upload whose answer was lost: names are random. */
async function putSegment(store: ObjectStore, key: string, bytes: Uint8Array): Promise<void> {
  try {
    await store.putNew(key, bytes);
  } catch (error) {
    if (!isOperatingError(error, "conflict")) throw error;
    const { size } = await store.head(key);
    if (size === bytes.byteLength) return;
    throw new OperatingError(
      "corrupt",
      `cannot mirror WAL segment ${key}: an object of ${size} bytes has its name, the segment has ` +
        `${bytes.byteLength}; look who else writes there, and move that object away`,
      { reason: "mirror_object_differs", cause: error },
    );
  }
}

export async function createIfMissing(fs: FileSystem, path: string): Promise<void> {
  try {
    await using _file = await fs.create(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}

export async function readIfPresent(fs: FileSystem, path: string): Promise<Uint8Array | undefined> {
  try {
    return await fs.readFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
