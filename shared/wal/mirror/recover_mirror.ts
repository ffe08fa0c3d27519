/**
 * Brings mirrored segments back to a WAL root. The plan only reads. Applying it puts each object
 * where an interrupted ingester would have left it and lets the salvage of such segments do the
 * rest. So every frame is checked, key files are made, and a segment counts when it is synced.
 * Interrupted anywhere, it can be run again.
 */

import { isOperatingError } from "../../base/errors.ts";
import { type LaneId, laneName } from "../../tenant/tenant.ts";
import type { FileSystem, ReadableFiles } from "../../os/file_system.ts";
import type { ReadableStore } from "../../storage/object_store.ts";
import { hasSegment, lockForRecovery, putBackSegment } from "../put_back.ts";
import type { Salvaged } from "../salvage.ts";
import { parseMirrorKey } from "./mirror_layout.ts";
import { fetchSegment, segmentBytesOf, type StoredSegment } from "./packed_segment.ts";

export interface RecoverySource {
  readonly store: ReadableStore;
  readonly prefix: string;
  /** Where the WAL is to be. */
  readonly root: string;
}

/** What the catalog knows of consumed segments. */
export interface ConsumedSegments {
  /** Which of `segments` some table has consumed. */
  consumedOf(segments: readonly string[]): Promise<ReadonlySet<string>>;
}

export interface RecoveryStep extends StoredSegment {
  readonly lane: LaneId;
  readonly name: string;
  readonly from: "sealed" | "active";
  /** `here`: the root has a segment of that name. `committed`: a table holds its rows. */
  readonly action: "pull" | "here" | "committed";
}

/** Names asked of the catalog at a time. */
const ASKED_MAX = 1_000;

/**
 * What to do with each segment of the mirror, by lane and age. Without a catalog none counts as
 * committed.
 */
export async function planRecovery(
  { store, prefix, root }: RecoverySource,
  deps: {
    readonly files: ReadableFiles;
    readonly catalog: ConsumedSegments | undefined;
  },
): Promise<RecoveryStep[]> {
  const best = new Map<string, RecoveryStep>();
  for await (const { key, size } of store.list(`${prefix}/`)) {
    const object = parseMirrorKey(prefix, key);
    if (object === undefined) continue;
    const { lane, name, isActive, isPacked, bytes = size } = object;
    const from = isActive ? "active" : "sealed";
    const id = `${laneName(lane)}/${name}`;
    const known = best.get(id);
    if (known !== undefined && !isBetter({ from, bytes }, known)) continue;
    best.set(id, { lane, name, key, isPacked, bytes, storedBytes: size, from, action: "pull" });
  }
  const steps = [...best].sort(([a], [b]) => a < b ? -1 : 1).map(([, step]) => step);
  const consumed = await consumedOf(deps.catalog, steps);
  const planned: RecoveryStep[] = [];
  for (const step of steps) {
    if (await hasSegment(deps.files, root, step)) planned.push({ ...step, action: "here" });
    else planned.push(consumed.has(step.name) ? { ...step, action: "committed" } : step);
  }
  return planned;
}

/** A sealed copy has all rows; of active ones the longest has most. */
function isBetter(
  a: Pick<RecoveryStep, "from" | "bytes">,
  b: Pick<RecoveryStep, "from" | "bytes">,
): boolean {
  return a.from === b.from ? a.bytes > b.bytes : a.from === "sealed";
}

/**
 * Pulls the plan's segments, one in memory at a time; what became of each, in order. Errors:
 * `conflict` when the root is in use; of the store and the file system.
 */
export async function* applyRecovery(
  { store, root }: RecoverySource,
  steps: readonly RecoveryStep[],
  { fs }: { readonly fs: FileSystem },
): AsyncGenerator<{ readonly step: RecoveryStep; readonly salvaged: Salvaged }> {
  using _lock = await lockForRecovery(fs, root, "--to");
  for (const step of steps) {
    // Looked at again under the lock: an ingester may have been here since.
    if (step.action !== "pull" || await hasSegment(fs, root, step)) continue;
    const bytes = await segmentOf(store, step);
    if (bytes === undefined) {
      yield { step, salvaged: nothingOf(step) };
      continue;
    }
    yield { step, salvaged: await putBackSegment(fs, root, { ...step, bytes }) };
  }
}

/** undefined for one that does not unpack: the others are pulled all the same. */
async function segmentOf(
  store: ReadableStore,
  step: RecoveryStep,
): Promise<Uint8Array | undefined> {
  const fetched = await fetchSegment(store, step);
  try {
    return segmentBytesOf(fetched, step);
  } catch (error) {
    if (isOperatingError(error, "corrupt")) return undefined;
    throw error;
  }
}

function nothingOf({ lane, name, bytes }: RecoveryStep): Salvaged {
  const nothing = { rows: 0, originalKept: false };
  return { lane, name, outcome: "poison", cutBytes: bytes, ...nothing };
}

async function consumedOf(
  catalog: ConsumedSegments | undefined,
  steps: readonly RecoveryStep[],
): Promise<ReadonlySet<string>> {
  const consumed = new Set<string>();
  for (let at = 0; catalog !== undefined && at < steps.length; at += ASKED_MAX) {
    const names = steps.slice(at, at + ASKED_MAX).map(({ name }) => name);
    for (const name of await catalog.consumedOf(names)) consumed.add(name);
  }
  return consumed;
}
