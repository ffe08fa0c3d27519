/**
 * Copies the WAL's part of a point: segments whose rows no table had at its moment, what is set
 * aside, and idempotency keys. Segments are on this machine's disk and in the mirror.
 */

import { isOperatingError } from "../base/errors.ts";
import type { ReadableFiles } from "../os/file_system.ts";
import type { ObjectInfo, ReadableStore } from "../storage/object_store.ts";
import type { LaneId } from "../tenant/tenant.ts";
import {
  damagedPath,
  dirEntriesOf,
  isSegmentName,
  keyFilePath,
  keysDirectory,
  lanesIn,
  SEGMENT_STATES,
  segmentNamesIn,
  segmentOfDamagedFile,
  segmentOfKeyFile,
  segmentPath,
  stateDirectory,
  tornPath,
} from "../wal/layout.ts";
import { parseMirrorKey } from "../wal/mirror/mirror_layout.ts";
import { type FileCopies, MovedOn, someAtOnce } from "./copy_files.ts";
import type { BackedUpFile, BackedUpSegment } from "./point.ts";

type Kind = BackedUpSegment["kind"];

export interface WalSource {
  readonly files: ReadableFiles;
  /** Folder of the WAL. */
  readonly root: string;
}

export interface WalCopyDeps extends WalSource {
  readonly copies: FileCopies;
  readonly signal: AbortSignal;
}

/** A file of the WAL that a point needs. */
export interface WantedSegment {
  readonly lane: LaneId;
  readonly kind: Kind;
  readonly name: string;
}

const TORN = ".torn";

/**
 * What a point needs of the WAL; `isConsumed` tells which segments its tables hold. To be called
 * right behind the moment: what is committed from then on is not swept for a while.
 */
export async function listWal(
  { files, root }: WalSource,
  isConsumed: (segment: string) => boolean,
): Promise<WantedSegment[]> {
  const wanted: WantedSegment[] = [];
  for (const lane of await lanesIn(files, root)) {
    for (const one of await filesOfLane(files, root, { lane, isConsumed })) wanted.push(one);
  }
  return wanted;
}

/**
 * Errors: `MovedOn` when a segment was committed and swept since it was listed; the file system's
 * and the target's.
 */
export async function copyWal(
  { files, root, copies, signal }: WalCopyDeps,
  wanted: readonly WantedSegment[],
): Promise<BackedUpSegment[]> {
  const segments: BackedUpSegment[] = [];
  await someAtOnce(wanted, signal, async ({ lane, kind, name }) => {
    const bytes = await bytesOf(files, root, { lane, kind, name });
    if (bytes === undefined) return;
    segments.push({ ...lane, kind, name, ...await copies.copyBytes(bytes) });
  });
  return segments;
}

/** Oldest first, which is the order in which they go. */
async function filesOfLane(
  files: ReadableFiles,
  root: string,
  { lane, isConsumed }: { lane: LaneId; isConsumed: (segment: string) => boolean },
): Promise<WantedSegment[]> {
  const kinds = new Map<string, Kind>();
  // In the order in which a segment passes them, so that none is missed.
  for (const state of ["active", "sealed", "committed"] as const) {
    for (const name of await segmentNamesIn(files, stateDirectory(root, lane, state))) {
      if (!isConsumed(name)) kinds.set(name, state === "active" ? "active" : "sealed");
    }
  }
  const wanted: WantedSegment[] = [];
  for (const { name } of await dirEntriesOf(files, stateDirectory(root, lane, "poison"))) {
    const torn = name.endsWith(TORN) ? name.slice(0, -TORN.length) : "";
    const damaged = segmentOfDamagedFile(name);
    if (isSegmentName(name)) kinds.set(name, "poison");
    else if (isSegmentName(torn)) wanted.push({ lane, kind: "torn", name: torn });
    // By it answers say that rows are missing, also after a restore.
    else if (damaged !== undefined) wanted.push({ lane, kind: "damaged", name: damaged });
  }
  for (const { name } of await dirEntriesOf(files, keysDirectory(root, lane))) {
    const segment = segmentOfKeyFile(name);
    if (segment !== undefined) wanted.push({ lane, kind: "keys", name: segment });
  }
  const segments = [...kinds].sort(([a], [b]) => a < b ? -1 : 1)
    .map(([name, kind]) => ({ lane, kind, name }));
  return [...segments, ...wanted];
}

/** Undefined for what may go at any time: keys that were forgotten, what a person removed. */
async function bytesOf(
  files: ReadableFiles,
  root: string,
  { lane, kind, name }: WantedSegment,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (kind === "keys") return await readIfThere(files, keyFilePath(root, lane, name));
  if (kind === "torn") return await readIfThere(files, tornPath(root, lane, name));
  if (kind === "damaged") return await readIfThere(files, damagedPath(root, lane, name));
  // Twice: a segment that was set aside moves back against the order.
  for (const state of [...SEGMENT_STATES, ...SEGMENT_STATES]) {
    const bytes = await readIfThere(files, segmentPath(root, lane, { state, name }));
    if (bytes !== undefined) return bytes;
  }
  if (kind === "poison") return undefined;
  throw new MovedOn(name);
}

async function readIfThere(
  files: ReadableFiles,
  path: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return await files.readFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** What a point needs of the mirror at `prefix`; empty: there is none. */
export async function listMirror(
  store: ReadableStore,
  prefix: string,
  isConsumed: (segment: string) => boolean,
): Promise<ObjectInfo[]> {
  const wanted: ObjectInfo[] = [];
  if (prefix === "") return wanted;
  for await (const info of store.list(`${prefix}/`)) {
    const object = parseMirrorKey(prefix, info.key);
    if (object !== undefined && !isConsumed(object.name)) wanted.push(info);
  }
  return wanted;
}

/** Errors: as `copyWal`. */
export async function copyMirror(
  { copies, signal }: Pick<WalCopyDeps, "copies" | "signal">,
  wanted: readonly ObjectInfo[],
): Promise<BackedUpFile[]> {
  const mirrored: BackedUpFile[] = [];
  await someAtOnce(wanted, signal, async (info) => {
    try {
      mirrored.push(await copies.copy(info));
    } catch (error) {
      // Committed and swept, or a longer copy took the place of one that is being written.
      throw isOperatingError(error, "not_found") ? new MovedOn(info.key, { cause: error }) : error;
    }
  });
  return mirrored;
}
