/**
 * One round of copies of the segments that are being written: what a lost disk would lose is then
 * no older than the interval. Each copy is a new object, the first bytes of the file. The shorter
 * one goes when the longer is there. All go when the sealed segment is in the mirror, or its rows
 * are in a table.
 *
 * Never beside a round of `mirrorSegments`: both hold a segment by the same pin. README.md has the
 * protocol.
 */

import { isOperatingError } from "../../base/errors.ts";
import { interleaved } from "../../tenant/interleaved.ts";
import { type LaneId, laneName } from "../../tenant/tenant.ts";
import { mkdirDurable } from "../../os/durable_directory.ts";
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
import { type MirrorDeps, type Mirrored, pin, readCopy } from "./mirror_segments.ts";
import {
  activeKey,
  activeLanePrefix,
  isMirrorable,
  lanePrefix,
  packedActiveKey,
  parseMirrorKey,
} from "./mirror_layout.ts";

/**
 * How many bytes of which segment were copied last, by lane. A lane that is not there was not
 * looked at yet.
 */
export type ActiveCopies = Map<string, Map<string, number>>;

/** Errors: of the store, of the file system. What it did stays done. */
export async function mirrorActive(
  deps: MirrorDeps,
  { copies, mirrored }: { readonly copies: ActiveCopies; readonly mirrored: Mirrored },
  signal: AbortSignal,
): Promise<void> {
  const lanes = await lanesIn(deps.fs, deps.root);
  for (const lane of interleaved(lanes, ({ tenant }) => tenant)) {
    if (!isMirrorable(lane)) continue;
    const known = copies.get(laneName(lane)) ?? await copiesThere(deps, lane);
    copies.set(laneName(lane), known);
    const active = await segmentNamesIn(deps.fs, stateDirectory(deps.root, lane, "active"));
    for (const name of active) {
      if (signal.aborted) return;
      await copyActive(deps, { lane, name, known });
    }
    await removeOutlived(deps, { lane, known, active: new Set(active), mirrored });
  }
}

/** Copies in the mirror, of whichever ingester: the longest of each segment. */
async function copiesThere(
  { store, prefix }: Pick<MirrorDeps, "store" | "prefix">,
  lane: LaneId,
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for await (const { key } of store.list(activeLanePrefix(prefix, lane))) {
    const object = parseMirrorKey(prefix, key);
    if (object?.isActive !== true || object.bytes === undefined) continue;
    found.set(object.name, Math.max(object.bytes, found.get(object.name) ?? 0));
  }
  return found;
}

async function copyActive(
  deps: MirrorDeps,
  { lane, name, known }: {
    readonly lane: LaneId;
    readonly name: string;
    readonly known: Map<string, number>;
  },
): Promise<void> {
  const { fs, root, store, prefix, onEvent } = deps;
  await mkdirDurable(fs, root, pinsDirectory(root, lane));
  await pin(deps, lane, [name]);
  const path = segmentPath(root, lane, { state: "active", name });
  const before = known.get(name);
  const hasGrown = ((await statIfPresent(fs, path))?.size ?? 0) > (before ?? 0);
  const copy = hasGrown ? await readCopy(deps, { name, path }) : undefined;
  if (copy !== undefined) {
    const { object, bytes, isPacked } = copy;
    const keyOf = isPacked ? packedActiveKey : activeKey;
    await putOnce(store, keyOf(prefix, lane, name, bytes), object);
    known.set(name, bytes);
    onEvent({ kind: "copied", lane, segment: name, bytes: object.byteLength });
    if (before !== undefined) {
      const shorter = [activeKey, packedActiveKey].map((of) => of(prefix, lane, name, before));
      await store.delete(shorter);
    }
  }
  await removeIfPresent(fs, pinPath(root, lane, name));
}

/** An object of that name is an earlier copy of as many bytes, whose answer was lost. */
async function putOnce(store: ObjectStore, key: string, bytes: Uint8Array): Promise<void> {
  try {
    await store.putNew(key, bytes);
  } catch (error) {
    if (!isOperatingError(error, "conflict")) throw error;
  }
}

/**
 * Removes copies of this ingester's segments that are no longer written. Copies of other ingesters
 * are theirs.
 */
async function removeOutlived(
  deps: MirrorDeps,
  { lane, known, active, mirrored }: {
    readonly lane: LaneId;
    readonly known: Map<string, number>;
    readonly active: ReadonlySet<string>;
    readonly mirrored: Mirrored;
  },
): Promise<void> {
  const { fs, root } = deps;
  const there = mirrored.get(laneName(lane));
  const sealed = new Set(await segmentNamesIn(fs, stateDirectory(root, lane, "sealed")));
  const committed = new Set(await segmentNamesIn(fs, stateDirectory(root, lane, "committed")));
  for (const name of known.keys()) {
    // Swept, and its copies with it; or never ours.
    if (!active.has(name) && !sealed.has(name) && !committed.has(name)) known.delete(name);
  }
  const outlived = [...known.keys()].filter((name) =>
    !active.has(name) && (sealed.has(name) ? there?.has(name) === true : committed.has(name))
  );
  if (outlived.length === 0) return;
  await removeActiveCopies(deps, lane, new Set(outlived));
  for (const name of outlived) known.delete(name);
}

/** Removes the active copies of these segments. Errors: the store's. */
function removeActiveCopies(mirror: Mirror, lane: LaneId, names: ReadonlySet<string>) {
  return removeBelow(mirror, activeLanePrefix(mirror.prefix, lane), names);
}

/**
 * Removes all objects of these segments, whatever their form: none may be there once they are
 * forgotten. Errors: the store's.
 */
export async function removeMirrored(
  mirror: Mirror,
  lane: LaneId,
  names: ReadonlySet<string>,
): Promise<void> {
  await removeBelow(mirror, lanePrefix(mirror.prefix, lane), names);
  await removeActiveCopies(mirror, lane, names);
}

type Mirror = Pick<MirrorDeps, "store" | "prefix">;

async function removeBelow(
  { store, prefix }: Mirror,
  folder: string,
  names: ReadonlySet<string>,
): Promise<void> {
  const keys: string[] = [];
  for await (const { key } of store.list(folder)) {
    const object = parseMirrorKey(prefix, key);
    if (object !== undefined && names.has(object.name)) keys.push(key);
  }
  if (keys.length > 0) await store.delete(keys);
}
