/**
 * What a lane of the WAL has behind a position. Rows come in the order of segments and frames, and
 * each frame as a whole.
 *
 * A segment may still be written. It is over once it was listed as sealed or committed, or once the
 * next one has rows: a lane is written in order. So it is read once more after rows of the next one
 * were seen, and is complete then.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf } from "../../base/errors.ts";
import { decodeSchemaMessage, epochOfSchemaMessage } from "../../columns/ipc.ts";
import type { Column } from "../../schema/schema.ts";
import type { LaneId } from "../../tenant/tenant.ts";
import type { FrameDamage, NamedSegment, WalFrame, WalReader } from "../../wal/types.ts";
import type { LanePosition } from "./follow_position.ts";

/** Frames behind a position, all of one segment. */
export interface LaneFrames {
  readonly columns: readonly Column[];
  /** Epoch of the rows: `TableSchema.epoch`. */
  readonly epoch: number;
  readonly frames: readonly WalFrame[];
  readonly rows: number;
  /** Whether the segment had more. */
  readonly isCut: boolean;
  /** Behind the last of the frames. */
  readonly position: LanePosition;
}

/** Rows and bytes after which a read ends; one frame is read in any case. */
const ROWS_MAX = 5_000;
const BYTES_MAX = 16 * 1024 * 1024;

/** A segment of a lane, and where its reading goes on. */
interface Place {
  readonly segment: string;
  readonly rows: number;
  readonly offset: number;
}

/** Reads one lane for its followers. It remembers where frames begin. */
export class LaneReading {
  readonly #wal: WalReader;
  readonly #lane: LaneId;
  readonly #onDamage: () => void;
  /** By segment and rows: followers at the same place need not count frames again. */
  readonly #places = new Map<string, Place>();

  readonly #told = new Set<string>();

  constructor(wal: WalReader, lane: LaneId, onDamage: () => void = () => {}) {
    this.#wal = wal;
    this.#lane = lane;
    this.#onDamage = onDamage;
  }

  /** Segments of the lane whose rows may be read, oldest first. */
  list(): Promise<NamedSegment[]> {
    return this.#wal.names(this.#lane, ["active", "sealed", "committed"]);
  }

  /** The end of what is there. */
  async end(): Promise<LanePosition> {
    const listed = await this.list();
    for (const { name, state } of listed.toReversed()) {
      const rows = await this.#rowsOf(name);
      if (rows > 0) return { segment: name, rows, isDone: state !== "active" };
    }
    const last = listed.findLast(({ state }) => state !== "active");
    return { segment: last?.name ?? "", rows: 0, isDone: true };
  }

  /**
   * The next frames behind `position`, and where the position is without any: it moves past
   * segments that are over.
   */
  async next(position: LanePosition): Promise<LaneFrames | LanePosition> {
    const listed = (await this.list()).filter(({ name }) => name >= position.segment);
    let at = position;
    for (const [place, { name, state }] of listed.entries()) {
      if (name === at.segment && at.isDone) continue;
      const rows = name === at.segment ? at.rows : 0;
      const isOver = state !== "active" || await this.#hasRows(listed[place + 1]?.name);
      const read = await this.#read(name, rows);
      if (read === undefined) return at;
      if (read.frames.length === 0 && !isOver) return at;
      const count = rows + read.rows;
      at = { segment: name, rows: count, isDone: isOver && !read.isCut };
      if (read.frames.length > 0) return { ...read, position: at };
    }
    return at;
  }

  async #hasRows(name: string | undefined): Promise<boolean> {
    if (name === undefined) return false;
    const read = await this.#read(name, 0, 1);
    return read !== undefined && read.frames.length > 0;
  }

  async #rowsOf(name: string): Promise<number> {
    let rows = 0;
    for (;;) {
      const read = await this.#read(name, rows);
      if (read === undefined || read.frames.length === 0) return rows;
      rows += read.rows;
    }
  }

  /** Frames behind the first `skip` rows. Undefined: the segment was swept meanwhile. */
  async #read(
    name: string,
    skip: number,
    rowsMax = ROWS_MAX,
  ): Promise<Omit<LaneFrames, "position"> | undefined> {
    const frames: WalFrame[] = [];
    let [rows, bytes, passed] = [0, 0, 0];
    let isCut = false;
    let schema: { columns: readonly Column[]; epoch: number } = { columns: [], epoch: 0 };
    try {
      await using reader = await this.#wal.open(this.#lane, name);
      const { schemaMessage } = reader;
      schema = {
        columns: decodeSchemaMessage(schemaMessage),
        epoch: epochOfSchemaMessage(schemaMessage),
      };
      const known = this.#places.get(name);
      const start = known !== undefined && known.rows <= skip ? known : undefined;
      passed = start?.rows ?? 0;
      let offset = start?.offset;
      const onDamage = (damage: FrameDamage) =>
        this.#tell(`the frame at offset ${damage.offset} of ${name} is damaged`);
      for await (const frame of reader.frames(offset, { onDamage })) {
        if (passed < skip) {
          passed += frame.rows;
          offset = frame.endOffset;
          continue;
        }
        if (frames.length > 0 && (rows >= rowsMax || bytes >= BYTES_MAX)) {
          isCut = true;
          break;
        }
        frames.push(frame);
        rows += frame.rows;
        bytes += frame.message.byteLength;
      }
      if (offset !== undefined && passed === skip) {
        this.#keep({ segment: name, rows: skip, offset });
      }
    } catch (error) {
      if (isOperatingError(error, "not_found")) return undefined;
      if (!isOperatingError(error, "corrupt")) throw error;
      this.#places.delete(name);
      this.#tell(messageOf(error));
    }
    return { ...schema, frames, rows, isCut };
  }

  /** Told once: a lane is read again and again. */
  #tell(error: string): void {
    if (this.#told.has(error)) return;
    if (this.#told.size > TOLD_MAX) this.#told.clear();
    this.#told.add(error);
    this.#onDamage();
    getLogger(["svc", "engine"]).error("rows of a WAL segment cannot be read: {error}", { error });
  }

  #keep(place: Place): void {
    this.#places.delete(place.segment);
    this.#places.set(place.segment, place);
    const [oldest] = this.#places.keys();
    if (this.#places.size > PLACES_MAX && oldest !== undefined) this.#places.delete(oldest);
  }
}

const PLACES_MAX = 64;
const TOLD_MAX = 256;
