/**
 * What the write-ahead log looks like from outside. Layout on disk, crash windows and assumptions:
 * README.md of this folder. A lane is one (tenant, index); its segments are totally ordered by
 * name.
 *
 * Capabilities: `Wal` appends (ingest), `WalReader` lists and reads (query, consumers),
 * `WalConsumerAdmin` moves and removes consumed segments (compactor).
 */

import type { EncodedBatch } from "../columns/batch.ts";
import type { LaneId } from "../tenant/tenant.ts";
import type { FrameKey } from "./frame_key.ts";

/**
 * `active`: being written by one ingester. `sealed`: complete, waiting for the drain. `committed`:
 * its rows are in the table, kept for readers that had listed it. `poison`: could not be decoded,
 * set aside.
 */
export type SegmentState = "active" | "sealed" | "committed" | "poison";

/**
 * When an append resolves: `auto` after write(2), `wait_for` after the data and its name are
 * synced.
 */
export type AckMode = "auto" | "wait_for";

/** A segment as a directory shows it. */
export interface NamedSegment {
  readonly lane: LaneId;
  /** File name: sorts by creation, unique across machines, the dedupe token. */
  readonly name: string;
  readonly state: SegmentState;
}

/** A segment as a list shows it. */
export interface SegmentInfo extends NamedSegment {
  /** Bytes of its file, or of the file that a mirror has it from. */
  readonly byteLength: number;
  readonly modifiedMs: number;
}

/** What is told of an append that was acknowledged. */
export interface AppendReceipt {
  /** The segment that holds the rows. */
  readonly segment: string;
  /** Set when an earlier append with the same key had stored them: this one stored nothing. */
  readonly isRepeat?: true;
}

/** With a key, the rows are stored once however often they are appended. */
export interface WalBatch extends EncodedBatch {
  readonly key?: FrameKey;
  /** What `summaryOf` says of the rows (`frame_summary.ts`). Absent: nothing is said. */
  readonly summary?: Uint8Array;
}

/** The writer's side of a WAL root, which one process has open at a time. */
export interface Wal extends AsyncDisposable {
  /**
   * Appends one batch as one frame: all of its rows or none.
   *
   * Errors: `internal` when this write failed. `unavailable` (with `retryAfterSecs`) while the lane
   * cannot be opened, refuses after a failure or below the free-space floor. `unprocessable` for a
   * key that another body had.
   */
  append(lane: LaneId, batch: WalBatch, mode: AckMode): Promise<AppendReceipt>;
  /** Seals the lane's active segment now; its name, or undefined when it held no rows. */
  seal(lane: LaneId): Promise<string | undefined>;
  /** Asks the drain, in whichever process, to commit the lane's sealed segments without gating. */
  requestDrain(lane: LaneId): Promise<void>;
  /** undefined when rows can be accepted durably, else why not: for `/readyz`. */
  unreadyReason(): Promise<string | undefined>;
  /** Seals what is open, releases the lock. */
  close(): Promise<void>;
}

/** The reader's side of a WAL, in any process. Errors: the file system's; those of its methods. */
export interface WalReader {
  lanes(): Promise<LaneId[]>;
  /**
   * Segments in any of `states`, oldest first, each once. One that moves on from one of `states` to
   * another meanwhile is listed; one that leaves them all may not be.
   */
  list(lane: LaneId, states: readonly SegmentState[]): Promise<SegmentInfo[]>;
  /**
   * Does as `list`, without looking at each segment: among them may be such that left all of
   * `states` meanwhile.
   */
  names(lane: LaneId, states: readonly SegmentState[]): Promise<NamedSegment[]>;
  /**
   * Bytes of the messages of a segment that was listed: what it takes in memory, which is many
   * times its `byteLength` where they are packed. 0 when it is not where it was listed any more.
   * Kept for the next time.
   */
  messageBytes(segment: SegmentInfo): Promise<number>;
  /**
   * Opens a segment wherever it is now. `not_found` when it was swept, `corrupt` when it is
   * damaged.
   */
  open(lane: LaneId, name: string): Promise<SegmentReader>;
  /** What lies in `poison/` of a lane, oldest first. Absent where there is no such folder. */
  setAside?(lane: LaneId): Promise<SetAside[]>;
  /**
   * A reader for opening `names` of a lane in this order, as they were listed. Where segments are
   * far away it fetches the next ones meanwhile, within bounds. Absent where nothing is gained by
   * it.
   */
  ahead?(lane: LaneId, names: readonly string[]): WalReader & Disposable;
}

/** Times of rows, in Unix nanoseconds, both inclusive. */
export interface FrameTimes {
  readonly timestampNsMin: bigint;
  readonly timestampNsMax: bigint;
}

/** What a segment held when it was sealed. */
export interface SegmentOutline extends FrameTimes {
  readonly rows: number;
}

/** Where the rows of one append lie in a segment, how many they are, and their times. */
export interface FrameOutline extends FrameTimes {
  /** Byte offset of the frame and of what follows it. */
  readonly offset: number;
  readonly endOffset: number;
  readonly rows: number;
}

/** What is known of the rows of one append without reading them. */
export interface WalFrameHead extends FrameOutline {
  /** What the writer said of the rows (`frame_summary.ts`); absent: nothing. */
  readonly summary?: Uint8Array | undefined;
}

/** The rows of one append, as they lie in a segment. */
export interface WalFrame extends FrameOutline {
  /**
   * One encapsulated Arrow IPC record-batch message in the form of `shared/columns/compact.ts`:
   * `decodeBatch` reads it.
   */
  readonly message: Uint8Array;
}

/** Bytes of a segment in which no intact frame lies. */
export interface FrameDamage {
  /** Byte offset of the damaged bytes and of what follows them. */
  readonly offset: number;
  /** Behind the end of the file where that was cut off. */
  readonly endOffset: number;
  /** Rows of the frame that lay there, as its damaged header says; undefined: not known. */
  readonly rows: number | undefined;
}

/** How the frames of a segment are read. */
export interface FramesOptions {
  /**
   * Called for each damaged stretch, which is then passed over; without it the first one throws.
   */
  readonly onDamage?: (damage: FrameDamage) => void;
  /** Where a frame ends behind which none is wanted; a reader may stop there. */
  readonly endOffset?: number;
  /** Called at the end with the number of frames that came from a copy of the segment, if any. */
  readonly onMended?: (frames: number) => void;
}

/** What was set aside under `poison/` because it is damaged: answers lack its rows. */
export interface SetAside {
  readonly name: string;
  /** A whole segment, or the damaged bytes of one whose other rows went on. */
  readonly kind: "segment" | "bytes";
  readonly bytes: number;
  /** Rows that were lost with them, as far as that is known. */
  readonly rows: number | undefined;
  /** Epoch of the rows (`TableSchema.epoch`); undefined where the header is damaged, too. */
  readonly epoch: number | undefined;
}

/** An open segment. It stays readable until it is disposed of, whatever becomes of its name. */
export interface SegmentReader extends AsyncDisposable {
  readonly lane: LaneId;
  readonly name: string;
  /** Encapsulated Arrow IPC schema message of every frame. */
  readonly schemaMessage: Uint8Array;
  /** Offset of the first frame. */
  readonly framesOffset: number;
  /**
   * What a sealed segment held, where that is on record and the file is as long as it was. Its
   * frames are not checked for it, so it is for those who leave the segment out. Who counts rows
   * takes `heads`.
   */
  readonly outline?: SegmentOutline | undefined;
  /**
   * Whole frames from `offset` (default: the first). Ends before a torn tail of an active segment.
   * A bad frame that is followed by others, or in a sealed segment, goes to `onDamage`. Without
   * that it throws `corrupt`, naming segment and offset.
   */
  frames(offset?: number, options?: FramesOptions): AsyncIterable<WalFrame>;
  /**
   * What `frames` hands out, each frame checked, without the rows: for who counts them. Absent
   * where frames are only had with their rows.
   */
  heads?(offset?: number, options?: FramesOptions): AsyncIterable<WalFrameHead>;
  close(): Promise<void>;
}

/** A sealed segment that disappeared before it was drained. */
export interface MissingSegment {
  readonly name: string;
  /** What it held when it was sealed; undefined where a power failure took the record's text. */
  readonly rows: number | undefined;
  readonly bytes: number | undefined;
}

/** What the drain does to segments beside the writer. */
export interface WalConsumerAdmin {
  /**
   * Moves sealed segments whose rows the catalog holds to `committed/`. A segment already there is
   * no error.
   */
  markCommitted(lane: LaneId, names: readonly string[]): Promise<void>;
  /** Sets a segment that cannot be decoded aside under `poison/`. */
  markPoison(lane: LaneId, name: string): Promise<void>;
  /**
   * Keeps the damaged bytes of a sealed segment under `poison/`, durably, with where they were:
   * before its other rows are committed. Errors: `NotFound` when it is not sealed any more.
   */
  setDamageAside(lane: LaneId, name: string, damage: readonly FrameDamage[]): Promise<void>;
  /**
   * Sealed segments that are gone, though nobody drained them: neither in a folder nor, as
   * `consumedOf` says, in a table. Oldest first.
   */
  missing(
    lane: LaneId,
    consumedOf: (names: readonly string[]) => Promise<ReadonlySet<string>>,
  ): Promise<MissingSegment[]>;
  /**
   * Puts a copy of a missing segment back under `sealed/`, durably. False, and nothing is done, for
   * bytes that are not the whole of it.
   */
  restore(lane: LaneId, name: string, bytes: Uint8Array): Promise<boolean>;
  /**
   * Removes committed segments older than the retention floor (60 s) that no live consumer still
   * holds; returns the names removed. `before` removes their copies elsewhere: while it fails they
   * are kept.
   */
  sweepCommitted(
    lane: LaneId,
    nowMs: number,
    before?: (names: readonly string[]) => Promise<void>,
  ): Promise<string[]>;
  /** Takes the pending request of `requestDrain`, if any. */
  takeDrainRequest(lane: LaneId): Promise<boolean>;
  /**
   * When `requestDrain` was last called for any lane, in Unix milliseconds; 0: never. Where it is
   * missing, each lane must be asked.
   */
  requestedMs?(): Promise<number>;
}
