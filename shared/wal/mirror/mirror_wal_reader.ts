/**
 * The sealed segments of a mirror as a WAL, for a drain without the WAL volume: listed and read from the object store,
 * and never changed. What a drain does with them is recorded in the catalog: consumed, claimed, quarantined.
 *
 * A segment is opened with one request, which brings its header and most often all of it; what is left of a larger one
 * comes with a second one when its frames are read. The bytes are then checked by the code that checks those on disk.
 */

import { assert } from "../../base/assert.ts";
import { isOperatingError, OperatingError } from "../../base/errors.ts";
import { type LaneId, laneName } from "../../event/tenant.ts";
import type { ReadableFile } from "../../os/file_system.ts";
import type { ReadableStore } from "../../storage/object_store.ts";
import { readSegmentHeader } from "../frame_scanner.ts";
import { OpenSegment } from "../reader.ts";
import type { SegmentInfo, SegmentReader, WalConsumerAdmin, WalReader } from "../types.ts";
import {
  isMirrorable,
  lanePrefix,
  type MirrorObject,
  parseMirrorKey,
  segmentKey,
} from "./mirror_layout.ts";

/** Bytes asked for at first; a segment of 4096 events has about half of it. */
const FIRST_BYTES = 1024 * 1024;
/** An object with more is not read: no segment of ours has as much. */
const SEGMENT_BYTES_MAX = 1024 * 1024 * 1024;

/** `prefix` is the mirror's, below the root of `store`. Only state `sealed` has segments here. */
export function openMirrorWalReader(store: ReadableStore, prefix: string): WalReader {
  return {
    lanes: () => lanesOf(store, prefix),
    list: (lane, states) =>
      states.includes("sealed") ? listLane(store, prefix, lane) : Promise.resolve([]),
    open: (lane, name) => openMirrored(store, segmentKey(prefix, lane, name), { lane, name }),
  };
}

async function lanesOf(store: ReadableStore, prefix: string): Promise<LaneId[]> {
  const lanes = new Map<string, LaneId>();
  for await (const { key } of store.list(`${prefix}/`)) {
    const found = sealedOf(prefix, key);
    if (found !== undefined) lanes.set(laneName(found.lane), found.lane);
  }
  return [...lanes.values()];
}

async function listLane(
  store: ReadableStore,
  prefix: string,
  lane: LaneId,
): Promise<SegmentInfo[]> {
  if (!isMirrorable(lane)) return [];
  const segments: SegmentInfo[] = [];
  for await (const { key, size, modifiedMs } of store.list(lanePrefix(prefix, lane))) {
    const found = sealedOf(prefix, key);
    if (found === undefined) continue;
    segments.push({ lane, name: found.name, state: "sealed", byteLength: size, modifiedMs });
  }
  return segments.sort((a, b) => a.name < b.name ? -1 : 1);
}

/** Active copies are no part of what is drained: the segment's rest is to come. */
function sealedOf(prefix: string, key: string): MirrorObject | undefined {
  const found = parseMirrorKey(prefix, key);
  return found?.activeBytes === undefined ? found : undefined;
}

async function openMirrored(
  store: ReadableStore,
  key: string,
  segment: { readonly lane: LaneId; readonly name: string },
): Promise<SegmentReader> {
  try {
    const file = await MirroredFile.open(store, key);
    const header = await readSegmentHeader(file, key);
    if (header === undefined) throw corrupt(key, "its header is cut off");
    return new OpenSegment(file, header, { ...segment, state: "sealed", path: key });
  } catch (error) {
    if (!isOperatingError(error, "not_found")) throw error;
    throw new OperatingError(
      "not_found",
      `cannot read WAL segment ${segment.name} of lane ${
        laneName(segment.lane)
      } from the mirror: ` +
        "segment no longer present",
      { reason: "wal_segment_swept", cause: error },
    );
  }
}

function corrupt(key: string, why: string): OperatingError {
  return new OperatingError("corrupt", `cannot read WAL segment ${key} of the mirror: ${why}`, {
    reason: "wal_segment_corrupt",
  });
}

/** An object as a file: its beginning in memory, the rest read in one piece when it is asked for. */
class MirroredFile implements ReadableFile {
  readonly #store: ReadableStore;
  readonly #key: string;
  #bytes: Uint8Array;
  #size: number | undefined;

  private constructor(store: ReadableStore, key: string, bytes: Uint8Array) {
    this.#store = store;
    this.#key = key;
    this.#bytes = bytes;
    if (bytes.byteLength < FIRST_BYTES) this.#size = bytes.byteLength;
  }

  static async open(store: ReadableStore, key: string): Promise<MirroredFile> {
    return new MirroredFile(store, key, await store.getRange(key, 0, FIRST_BYTES));
  }

  async size(): Promise<number> {
    if (this.#size === undefined) {
      const { size } = await this.#store.head(this.#key);
      if (size > SEGMENT_BYTES_MAX) throw corrupt(this.#key, `it has ${size} bytes`);
      this.#size = size;
    }
    return this.#size;
  }

  async readAt(into: Uint8Array, offset: number): Promise<number> {
    if (offset + into.byteLength > this.#bytes.byteLength) await this.#readRest();
    const found = this.#bytes.subarray(offset, offset + into.byteLength);
    into.set(found);
    return found.byteLength;
  }

  async #readRest(): Promise<void> {
    const size = await this.size();
    const have = this.#bytes.byteLength;
    if (have >= size) return;
    const rest = await this.#store.getRange(this.#key, have, size - have);
    assert(rest.byteLength === size - have, `${this.#key} is immutable`);
    const whole = new Uint8Array(size);
    whole.set(this.#bytes);
    whole.set(rest, have);
    this.#bytes = whole;
  }

  close(): void {
    this.#bytes = new Uint8Array(0);
    this.#size = 0;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }
}

/**
 * The drain's side of a mirror: nothing. What a drain did is in the catalog, and whoever wrote an object removes it.
 * `takeDrainRequest` takes what `request` (a notification) left for a lane, or for all.
 */
export class MirrorConsumerAdmin implements WalConsumerAdmin {
  readonly #requested = new Set<string>();

  /** Someone waits for the commit of a lane's segments. */
  request(lane: string): void {
    this.#requested.add(lane);
  }

  markCommitted(): Promise<void> {
    return Promise.resolve();
  }

  markPoison(lane: LaneId, name: string): Promise<never> {
    return Promise.reject(new Error(`bug: ${name} of ${laneName(lane)} is set aside by its claim`));
  }

  sweepCommitted(): Promise<string[]> {
    return Promise.resolve([]);
  }

  takeDrainRequest(lane: LaneId): Promise<boolean> {
    return Promise.resolve(this.#requested.delete(laneName(lane)));
  }
}
