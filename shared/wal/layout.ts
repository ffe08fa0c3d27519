/**
 * Names of the WAL's files and directories: the only place that knows them. README.md has the tree.
 */

import { join } from "node:path";
import { assert } from "../base/assert.ts";
import { hexOf } from "../base/bytes.ts";
import type { Clock } from "../os/clock.ts";
import type { DirEntry, FileStat, ReadableFiles } from "../os/file_system.ts";
import type { Random } from "../os/random.ts";
import type { LaneId } from "../tenant/tenant.ts";
import type { SegmentState } from "./types.ts";

/** In the order in which a segment passes through them; listing in this order misses no segment. */
export const SEGMENT_STATES: readonly SegmentState[] = ["active", "sealed", "committed", "poison"];

const SEGMENT_NAME = /^(\d{13})-(\d{4})-([0-9a-f]{10})([0-9a-f]{6})\.seg$/;
const LANE_PART = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/;
const KEY_FILE = /^(\d{13}-\d{4}-[0-9a-f]{16}\.seg)\.keys$/;
const CONSUMER_FILE = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}\.json$/;
const DAMAGED = ".damaged";
const SEQUENCE_MAX = 9999;
const WRITER_BYTES = 5;
const NUMBER_DIGITS = 6;
const NUMBERS = 16 ** NUMBER_DIGITS;

/** The file whose lock the one ingester of a root holds. */
export function lockPath(root: string): string {
  return join(root, "LOCK");
}

/** The file by which a directory is tried after a failure. */
export function probePath(directory: string): string {
  return join(directory, ".probe");
}

/** The directory of a lane. */
export function laneDirectory(root: string, lane: LaneId): string {
  assert(isLanePart(lane.tenant) && isLanePart(lane.index), `lane ${JSON.stringify(lane)}`);
  return join(root, lane.tenant, lane.index);
}

/** The directory of a lane's segments in one state. */
export function stateDirectory(root: string, lane: LaneId, state: SegmentState): string {
  return join(laneDirectory(root, lane), state);
}

/** The path of a segment in one state. */
export function segmentPath(
  root: string,
  lane: LaneId,
  place: { state: SegmentState; name: string },
): string {
  assert(isSegmentName(place.name), `segment name ${JSON.stringify(place.name)}`);
  return join(stateDirectory(root, lane, place.state), place.name);
}

/** A segment that is being built beside its final place. */
export function temporaryPath(directory: string, name: string): string {
  return join(directory, `.${name}.tmp`);
}

/** Where the original of a segment with a suspicious tail is kept. */
export function tornPath(root: string, lane: LaneId, name: string): string {
  return `${segmentPath(root, lane, { state: "poison", name })}.torn`;
}

/** The marker that asks for a commit of the lane's segments now. */
export function drainRequestPath(root: string, lane: LaneId): string {
  return join(laneDirectory(root, lane), "drain_requested");
}

/** Touched after each drain request: a drain watches this file and not every lane. */
export function drainBellPath(root: string): string {
  return join(root, "drain_bell");
}

/** Idempotency keys of sealed segments. */
export function keysDirectory(root: string, lane: LaneId): string {
  return join(laneDirectory(root, lane), "keys");
}

/** The file with the idempotency keys of a sealed segment. */
export function keyFilePath(root: string, lane: LaneId, segment: string): string {
  assert(isSegmentName(segment), `segment name ${JSON.stringify(segment)}`);
  return join(keysDirectory(root, lane), `${segment}.keys`);
}

/** The segment that a key file is named after; undefined for any other file. */
export function segmentOfKeyFile(name: string): string | undefined {
  return KEY_FILE.exec(name)?.[1];
}

/** Pins: segments whose upload to the mirror may be under way (mirror/README.md). */
export function pinsDirectory(root: string, lane: LaneId): string {
  return join(laneDirectory(root, lane), "mirroring");
}

/** The pin of a segment: its upload to the mirror may be under way. */
export function pinPath(root: string, lane: LaneId, segment: string): string {
  assert(isSegmentName(segment), `segment name ${JSON.stringify(segment)}`);
  return join(pinsDirectory(root, lane), segment);
}

/** The damaged bytes of a segment whose other frames went on (`damaged_bytes.ts`). */
export function damagedPath(root: string, lane: LaneId, name: string): string {
  return `${segmentPath(root, lane, { state: "poison", name })}${DAMAGED}`;
}

/** The segment that a file of damaged bytes is named after; undefined for any other file. */
export function segmentOfDamagedFile(name: string): string | undefined {
  const segment = name.endsWith(DAMAGED) ? name.slice(0, -DAMAGED.length) : "";
  return isSegmentName(segment) ? segment : undefined;
}

/** Records of the sealed segments that wait for a drain (`seal_record.ts`). */
export function expectedDirectory(root: string, lane: LaneId): string {
  return join(laneDirectory(root, lane), "expected");
}

/** The record of one of them. */
export function expectedPath(root: string, lane: LaneId, name: string): string {
  assert(isSegmentName(name), `segment name ${JSON.stringify(name)}`);
  return join(expectedDirectory(root, lane), name);
}

/** The directory where consumers of a lane publish their watermarks. */
export function consumersDirectory(root: string, lane: LaneId): string {
  return join(laneDirectory(root, lane), "consumers");
}

/** Whether a file of that directory holds a watermark. */
export function isConsumerFile(name: string): boolean {
  return CONSUMER_FILE.test(name);
}

/** Whether `part` can name a tenant or an index on disk. */
export function isLanePart(part: string): boolean {
  return LANE_PART.test(part);
}

/** Whether `name` is one that `SegmentNames` makes. */
export function isSegmentName(name: string): boolean {
  return SEGMENT_NAME.test(name);
}

/** Unix milliseconds at which a segment was begun. */
export function msOfSegmentName(name: string): number {
  return Number(SEGMENT_NAME.exec(name)?.[1]);
}

/**
 * Who named a segment, as which of its segments, and when: what the catalog keeps of those that are
 * gone.
 */
export interface SegmentOrdinal {
  readonly writer: string;
  /** Counts up from 0 over all lanes of its writer. */
  readonly number: number;
  /** Unix milliseconds at which it was begun. */
  readonly ms: number;
}

/** Undefined for what is no segment's name. One of an earlier release has a writer of its own. */
export function ordinalOfSegmentName(name: string): SegmentOrdinal | undefined {
  const [, ms, , writer, number] = SEGMENT_NAME.exec(name) ?? [];
  if (ms === undefined || writer === undefined || number === undefined) return undefined;
  return { writer, number: Number.parseInt(number, 16), ms: Number(ms) };
}

/** Segment names of one state of a lane, oldest first; none when the directory is not there. */
export async function segmentNamesIn(fs: ReadableFiles, directory: string): Promise<string[]> {
  const entries = await dirEntriesOf(fs, directory);
  return entries.filter((entry) => entry.isFile && isSegmentName(entry.name))
    .map((entry) => entry.name).sort();
}

/** Lanes that have a directory, in order of name. */
export async function lanesIn(fs: ReadableFiles, root: string): Promise<LaneId[]> {
  const lanes: LaneId[] = [];
  for (const tenant of await subdirectories(fs, root)) {
    for (const index of await subdirectories(fs, join(root, tenant))) lanes.push({ tenant, index });
  }
  return lanes;
}

async function subdirectories(fs: ReadableFiles, directory: string): Promise<string[]> {
  const entries = await dirEntriesOf(fs, directory);
  return entries.filter((entry) => entry.isDirectory && isLanePart(entry.name))
    .map((entry) => entry.name).sort();
}

/** Entries of a directory; none when it is not there. */
export async function dirEntriesOf(fs: ReadableFiles, directory: string): Promise<DirEntry[]> {
  try {
    return await fs.readDir(directory);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Undefined when there is no such file. */
export async function statIfPresent(
  fs: ReadableFiles,
  path: string,
): Promise<FileStat | undefined> {
  try {
    return await fs.stat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Makes segment names, each greater than those before it and those it was told of. Its writer is
 * random and numbers what it names, so that what was consumed of it is a few runs of numbers. No
 * two segments that hold rows share writer and number.
 */
export class SegmentNames {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #numbersMax: number;
  #ms = 0;
  #sequence = 0;
  #writer: string;
  #nextNumber = 0;
  #unused: number[] = [];

  /** After `numbersMax` names another writer follows. */
  constructor(clock: Clock, random: Random, { numbersMax = NUMBERS } = {}) {
    this.#clock = clock;
    this.#random = random;
    this.#numbersMax = numbersMax;
    this.#writer = hexOf(random.bytes(WRITER_BYTES));
  }

  /** Makes later names greater than `name`, whatever the clock says. */
  follow(name: string): void {
    const match = SEGMENT_NAME.exec(name);
    const ms = Number(match?.[1] ?? 0);
    const sequence = Number(match?.[2] ?? 0);
    if (ms > this.#ms || (ms === this.#ms && sequence > this.#sequence)) {
      this.#ms = ms;
      this.#sequence = sequence;
    }
  }

  next(): string {
    const now = this.#clock.nowMs();
    if (now > this.#ms) {
      this.#ms = now;
      this.#sequence = 0;
    } else if (this.#sequence < SEQUENCE_MAX) {
      this.#sequence += 1;
    } else {
      this.#ms += 1;
      this.#sequence = 0;
    }
    const ms = String(Math.floor(this.#ms)).padStart(13, "0");
    const sequence = String(this.#sequence).padStart(4, "0");
    const number = this.#number().toString(16).padStart(NUMBER_DIGITS, "0");
    return `${ms}-${sequence}-${this.#writer}${number}.seg`;
  }

  /**
   * The segment of this name was removed and never held a row: another may have its number, so that
   * none is left out.
   */
  giveBack(name: string): void {
    const ordinal = ordinalOfSegmentName(name);
    if (ordinal?.writer === this.#writer) this.#unused.push(ordinal.number);
  }

  #number(): number {
    const unused = this.#unused.pop();
    if (unused !== undefined) return unused;
    if (this.#nextNumber === this.#numbersMax) {
      this.#writer = hexOf(this.#random.bytes(WRITER_BYTES));
      this.#nextNumber = 0;
      this.#unused = [];
    }
    return this.#nextNumber++;
  }
}
