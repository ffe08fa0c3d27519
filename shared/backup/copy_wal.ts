/**
 * Copies the WAL's part of a point: segments whose rows no table had at its moment, on this
 * machine's disk and in the mirror, what is set aside, and idempotency keys.
 */

import { isOperatingError } from "../base/errors.ts";
import type { ReadableFiles } from "../os/file_system.ts";
import type { ObjectInfo, ReadableStore } from "../storage/object_store.ts";
import type { LaneId } from "../tenant/tenant.ts";
import {
  dirEntriesOf,
  isSegmentName,
  keyFilePath,
  keysDirectory,
  lanesIn,
  SEGMENT_STATES,
  segmentNamesIn,
  segmentOfKeyFile,
  segmentPath,
  stateDirectory,
  tornPath,
} from "../wal/layout.ts";
import { parseMirrorKey } from "../wal/mirror/mirror_layout.ts";
import { type FileCopies, MovedOn, someAtOnce } from "./copy_files.ts";
import type { BackedUpFile, BackedUpSegment } from "./point.ts";

type Kind = BackedUpSegment["kind"];

export interface WalCopyDeps {
  readonly files: ReadableFiles;
  /** Folder of the WAL. */
  readonly root: string;
  readonly copies: FileCopies;
  readonly signal: AbortSignal;
}

interface Wanted {
  readonly lane: LaneId;
  readonly kind: Kind;
  readonly name: string;
}

const TORN = ".torn";

/**
 * `isConsumed` tells which segments the point's tables hold. Errors: `MovedOn` when one was
 * committed and swept since; the file system's and the target's.
 */
export async function copyWal(
  deps: WalCopyDeps,
  isConsumed: (segment: string) => boolean,
): Promise<BackedUpSegment[]> {
  const { files, root, copies, signal } = deps;
  const wanted: Wanted[] = [];
  for (const lane of await lanesIn(files, root)) {
    wanted.push(...await filesOfLane(files, root, { lane, isConsumed }));
  }
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
): Promise<Wanted[]> {
  const kinds = new Map<string, Kind>();
  // In the order in which a segment passes them, so that none is missed.
  for (const state of ["active", "sealed", "committed"] as const) {
    for (const name of await segmentNamesIn(files, stateDirectory(root, lane, state))) {
      if (!isConsumed(name)) kinds.set(name, state === "active" ? "active" : "sealed");
    }
  }
  const wanted: Wanted[] = [];
  for (const { name } of await dirEntriesOf(files, stateDirectory(root, lane, "poison"))) {
    const segment = name.endsWith(TORN) ? name.slice(0, -TORN.length) : name;
    if (!isSegmentName(segment)) continue;
    if (segment === name) kinds.set(name, "poison");
    else wanted.push({ lane, kind: "torn", name: segment });
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
  { lane, kind, name }: Wanted,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (kind === "keys") return await readIfThere(files, keyFilePath(root, lane, name));
  if (kind === "torn") return await readIfThere(files, tornPath(root, lane, name));
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

export interface MirrorCopyDeps {
  readonly store: ReadableStore;
  /** The mirror's folder; empty: there is none. */
  readonly prefix: string;
  readonly copies: FileCopies;
  readonly signal: AbortSignal;
}

/** The same of the mirror. Errors: `MovedOn`; the stores'. */
export async function copyMirror(
  { store, prefix, copies, signal }: MirrorCopyDeps,
  isConsumed: (segment: string) => boolean,
): Promise<BackedUpFile[]> {
  if (prefix === "") return [];
  const wanted: ObjectInfo[] = [];
  for await (const info of store.list(`${prefix}/`)) {
    const object = parseMirrorKey(prefix, info.key);
    if (object !== undefined && !isConsumed(object.name)) wanted.push(info);
  }
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
