/**
 * The sealed segments of a mirror as a WAL, for a drain without the WAL volume: listed and read
 * from the object store, and never changed. What a drain does with them is recorded in the catalog:
 * consumed, claimed, quarantined.
 *
 * A segment is one request, and those that follow are asked for while it is read (`ahead`). The
 * bytes are then checked by the code that checks those on disk.
 */

import { isOperatingError, OperatingError } from "../../base/errors.ts";
import { type LaneId, laneName } from "../../tenant/tenant.ts";
import type { ReadableStore } from "../../storage/object_store.ts";
import { readSegmentHeader } from "../frame_scanner.ts";
import { MemoryFile } from "../memory_file.ts";
import { OpenSegment } from "../reader.ts";
import type {
  MissingSegment,
  NamedSegment,
  SegmentInfo,
  SegmentReader,
  WalConsumerAdmin,
  WalReader,
} from "../types.ts";
import { isMirrorable, lanePrefix, parseMirrorKey } from "./mirror_layout.ts";
import { fetchSegment, segmentBytesOf, type StoredSegment } from "./packed_segment.ts";

/**
 * Objects that are fetched or kept ahead of the one that is read: many small ones, or a few large
 * ones.
 */
const AHEAD_SEGMENTS_MAX = 16;
/** And their bytes, as far as more than one is concerned. */
const AHEAD_BYTES_MAX = 32 * 1024 * 1024;

/** `prefix` is the mirror's, below the root of `store`. Only state `sealed` has segments here. */
export function openMirrorWalReader(store: ReadableStore, prefix: string): WalReader {
  return new MirrorWalReader(store, prefix);
}

interface MirroredSegment extends StoredSegment {
  readonly lane: LaneId;
  readonly name: string;
  readonly modifiedMs: number;
  readonly messageBytes: number;
}

class MirrorWalReader implements WalReader {
  readonly #store: ReadableStore;
  readonly #prefix: string;
  /** What was listed last, by lane and name: a segment's name alone does not tell its key. */
  readonly #listed = new Map<string, ReadonlyMap<string, MirroredSegment>>();

  constructor(store: ReadableStore, prefix: string) {
    this.#store = store;
    this.#prefix = prefix;
  }

  async lanes(): Promise<LaneId[]> {
    const lanes = new Map<string, LaneId>();
    for await (const { lane } of this.#segments(`${this.#prefix}/`)) {
      lanes.set(laneName(lane), lane);
    }
    return [...lanes.values()];
  }

  async list(lane: LaneId, states: readonly SegmentInfo["state"][]): Promise<SegmentInfo[]> {
    if (!states.includes("sealed") || !isMirrorable(lane)) return [];
    const segments = await this.#list(lane);
    return [...segments.values()]
      .map(({ name, bytes: byteLength, modifiedMs }): SegmentInfo => {
        return { lane, name, state: "sealed", byteLength, modifiedMs };
      })
      .sort((a, b) => a.name < b.name ? -1 : 1);
  }

  names(lane: LaneId, states: readonly SegmentInfo["state"][]): Promise<SegmentInfo[]> {
    return this.list(lane, states);
  }

  messageBytes({ lane, name, byteLength }: SegmentInfo): Promise<number> {
    const listed = this.#listed.get(laneName(lane))?.get(name);
    return Promise.resolve(listed?.messageBytes ?? byteLength);
  }

  async open(lane: LaneId, name: string): Promise<SegmentReader> {
    const segment = await this.#find(lane, name);
    return await openFetched(segment, fetchOf(this.#store, segment));
  }

  ahead(lane: LaneId, names: readonly string[]): WalReader & Disposable {
    return new ReaderAhead(this, {
      store: this.#store,
      names,
      find: (name) => this.#listed.get(laneName(lane))?.get(name),
    });
  }

  async #find(lane: LaneId, name: string): Promise<MirroredSegment> {
    const segment = this.#listed.get(laneName(lane))?.get(name) ??
      (isMirrorable(lane) ? await this.#list(lane) : undefined)?.get(name);
    if (segment === undefined) throw gone(lane, name);
    return segment;
  }

  async #list(lane: LaneId): Promise<ReadonlyMap<string, MirroredSegment>> {
    const segments = new Map<string, MirroredSegment>();
    for await (const segment of this.#segments(lanePrefix(this.#prefix, lane))) {
      segments.set(segment.name, segment);
    }
    this.#listed.set(laneName(lane), segments);
    return segments;
  }

  /** Sealed ones. Active copies are no part of what is drained: the segment's rest is to come. */
  async *#segments(below: string): AsyncIterable<MirroredSegment> {
    for await (const { key, size, modifiedMs } of this.#store.list(below)) {
      const object = parseMirrorKey(this.#prefix, key);
      if (object === undefined || object.isActive) continue;
      const { lane, name, isPacked, bytes = size, messageBytes = bytes } = object;
      yield { lane, name, key, isPacked, bytes, messageBytes, storedBytes: size, modifiedMs };
    }
  }
}

/**
 * Reads segments in an order that is known: the next ones are fetched meanwhile, and kept for
 * readers that read them twice.
 */
class ReaderAhead implements WalReader, Disposable {
  readonly #reader: WalReader;
  readonly #store: ReadableStore;
  readonly #names: readonly string[];
  readonly #find: (name: string) => MirroredSegment | undefined;
  /** Objects by name, the oldest first. */
  readonly #fetched = new Map<string, { bytes: number; object: Promise<Uint8Array> }>();

  constructor(
    reader: WalReader,
    options: {
      readonly store: ReadableStore;
      readonly names: readonly string[];
      readonly find: (name: string) => MirroredSegment | undefined;
    },
  ) {
    this.#reader = reader;
    this.#store = options.store;
    this.#names = options.names;
    this.#find = options.find;
  }

  lanes(): Promise<LaneId[]> {
    return this.#reader.lanes();
  }

  list(lane: LaneId, states: readonly SegmentInfo["state"][]): Promise<SegmentInfo[]> {
    return this.#reader.list(lane, states);
  }

  names(lane: LaneId, states: readonly SegmentInfo["state"][]): Promise<NamedSegment[]> {
    return this.#reader.names(lane, states);
  }

  messageBytes(segment: SegmentInfo): Promise<number> {
    return this.#reader.messageBytes(segment);
  }

  async open(lane: LaneId, name: string): Promise<SegmentReader> {
    const segment = this.#find(name);
    const at = this.#names.indexOf(name);
    if (segment === undefined || at < 0) return await this.#reader.open(lane, name);
    const object = this.#fetch(segment);
    const wanted = this.#startNext(at);
    this.#forgetBut(wanted);
    return await openFetched(segment, object);
  }

  /** Asks for what follows, as far as there is room; the names that are to stay. */
  #startNext(at: number): ReadonlySet<string> {
    const wanted = new Set<string>();
    let bytes = 0;
    for (const name of this.#names.slice(at, at + 1 + AHEAD_SEGMENTS_MAX)) {
      const segment = this.#find(name);
      if (segment === undefined) continue;
      bytes += segment.storedBytes;
      if (wanted.size > 0 && bytes > AHEAD_BYTES_MAX) break;
      wanted.add(name);
      this.#fetch(segment);
    }
    return wanted;
  }

  #fetch(segment: MirroredSegment): Promise<Uint8Array> {
    const known = this.#fetched.get(segment.name);
    if (known !== undefined) return known.object;
    const object = fetchOf(this.#store, segment);
    // The error is for the reader that opens it.
    object.catch(() => this.#fetched.delete(segment.name));
    this.#fetched.set(segment.name, { bytes: segment.storedBytes, object });
    return object;
  }

  /**
   * What was read stays while there is room: a table that somebody configured is looked through
   * twice.
   */
  #forgetBut(wanted: ReadonlySet<string>): void {
    let [count, bytes] = [this.#fetched.size, 0];
    for (const kept of this.#fetched.values()) bytes += kept.bytes;
    for (const [name, kept] of this.#fetched) {
      if (count <= AHEAD_SEGMENTS_MAX && bytes <= AHEAD_BYTES_MAX) return;
      if (wanted.has(name)) continue;
      this.#fetched.delete(name);
      [count, bytes] = [count - 1, bytes - kept.bytes];
    }
  }

  [Symbol.dispose](): void {
    this.#fetched.clear();
  }
}

async function fetchOf(store: ReadableStore, segment: MirroredSegment): Promise<Uint8Array> {
  try {
    return await fetchSegment(store, segment);
  } catch (error) {
    if (!isOperatingError(error, "not_found")) throw error;
    throw gone(segment.lane, segment.name, error);
  }
}

async function openFetched(
  segment: MirroredSegment,
  object: Promise<Uint8Array>,
): Promise<SegmentReader> {
  const { lane, name, key } = segment;
  const file = new MemoryFile(segmentBytesOf(await object, segment));
  const header = await readSegmentHeader(file, key);
  if (header === undefined) {
    throw new OperatingError(
      "corrupt",
      `cannot read WAL segment ${key} of the mirror: its header is cut off`,
      { reason: "wal_segment_corrupt" },
    );
  }
  return new OpenSegment(file, header, { lane, name, state: "sealed", path: key });
}

function gone(lane: LaneId, name: string, cause?: unknown): OperatingError {
  return new OperatingError(
    "not_found",
    `cannot read WAL segment ${name} of lane ${
      laneName(lane)
    } from the mirror: segment no longer present`,
    { reason: "wal_segment_swept", cause },
  );
}

/**
 * The drain's side of a mirror does nothing. What a drain did is in the catalog, and the writer of
 * an object removes it. `takeDrainRequest` takes what `request` (a notification) left for a lane,
 * or for all.
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

  setDamageAside(lane: LaneId, name: string): Promise<never> {
    return Promise.reject(new Error(`bug: ${name} of ${laneName(lane)} is set aside by its claim`));
  }

  missing(): Promise<MissingSegment[]> {
    return Promise.resolve([]);
  }

  restore(): Promise<boolean> {
    return Promise.resolve(false);
  }

  sweepCommitted(): Promise<string[]> {
    return Promise.resolve([]);
  }

  takeDrainRequest(lane: LaneId): Promise<boolean> {
    return Promise.resolve(this.#requested.delete(laneName(lane)));
  }
}
