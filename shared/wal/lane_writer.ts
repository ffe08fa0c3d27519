/**
 * One lane of an open WAL: appends in order, rolls, seals in order, and refuses after a failure
 * until it has healed. Three tasks run beside each other: the pump writes what is queued, the chain
 * of sealings moves what was rolled, the healer works after a failure.
 *
 * Invariant: segments reach `sealed/` in the order of their names, also those that failed.
 */

import { getLogger } from "@logtape/logtape";
import { assert } from "../base/assert.ts";
import { messageOf, OperatingError } from "../base/errors.ts";
import type { TableSchema } from "../schema/schema.ts";
import { type LaneId, laneName } from "../tenant/tenant.ts";
import type { Clock } from "../os/clock.ts";
import type { FileSystem } from "../os/file_system.ts";
import { ActiveSegment } from "./active_segment.ts";
import { faultBelow } from "./fault_below.ts";
import { frameLengthMax } from "./format.ts";
import type { FrameEncoder } from "./frame_encoder.ts";
import type { FrameKey } from "./frame_key.ts";
import type { KnownRequest } from "./key_window.ts";
import { LaneHealer } from "./lane_healer.ts";
import type { LaneKeys } from "./lane_keys.ts";
import { type SegmentNames, segmentPath, stateDirectory } from "./layout.ts";
import { writeSealRecord } from "./seal_record.ts";
import { linkSegment, removeIfPresent } from "./transfer.ts";
import type { AckMode, AppendReceipt, WalBatch } from "./types.ts";
import type { WalEventListener } from "./wal_event.ts";

/** Frames that waited for the same write are written together up to this many bytes. */
const GROUP_BYTES_MAX = 1024 * 1024;
/**
 * A full segment that may not roll yet, or waits for its sync, takes rows up to this multiple of
 * `eventsMax`.
 */
const OVERFILL = 16;

export interface LaneOptions {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly root: string;
  readonly names: SegmentNames;
  readonly encoder: FrameEncoder;
  readonly keys: LaneKeys;
  readonly eventsMax: number;
  readonly ageSecsMax: number;
  /** A full segment does not roll while its first row is younger than this. */
  readonly ageMsMin: number;
  /** How long a group of appends may form before it is written; 0 writes what is there at once. */
  readonly groupWaitMs: number;
  readonly schemaMessageOf: (schema: TableSchema) => Uint8Array;
  /** Throws while the root is not there, or another process has it. */
  readonly requireRoot: () => void;
  readonly onEvent: WalEventListener;
}

interface Append {
  readonly batch: WalBatch;
  readonly schemaMessage: Uint8Array;
  readonly mode: AckMode;
  readonly queuedMs: number;
  resolve(receipt: AppendReceipt): void;
  reject(error: unknown): void;
}

/** No segment could be begun, for the reason that is its cause. */
class Unbegun extends Error {
  constructor(override readonly cause: unknown) {
    super("no segment could be begun");
  }
}

export class LaneWriter {
  readonly lane: LaneId;
  readonly #options: LaneOptions;
  readonly #healer: LaneHealer;
  #queue: Append[] = [];
  #pumping: Promise<void> | undefined;
  #current: ActiveSegment | undefined;
  /** When the current segment is old enough to roll because it is full. */
  #ripeAtMs = 0;
  #standby: Promise<ActiveSegment | undefined> | undefined;
  #toSeal: ActiveSegment[] = [];
  /** Key files that the window has forgotten may still be there. */
  #keysOwed = false;
  #sealing: Promise<void> = Promise.resolve();

  constructor(lane: LaneId, options: LaneOptions) {
    this.lane = lane;
    this.#options = options;
    this.#healer = new LaneHealer(lane, {
      ...options,
      sealed: () => this.#sealing,
      healed: (name) => options.keys.takeOver(name),
    });
  }

  /** Why the lane refuses rows, or undefined. */
  get failure(): string | undefined {
    return this.#healer.failure;
  }

  append(batch: WalBatch, mode: AckMode): Promise<AppendReceipt> {
    const refusal = this.#healer.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    return batch.key === undefined
      ? this.#enqueue(batch, mode)
      : this.#appendOnce(batch, { key: batch.key, mode });
  }

  /** Stores a request that has a key, unless it is stored or on its way already. */
  async #appendOnce(
    batch: WalBatch,
    { key, mode }: { key: FrameKey; mode: AckMode },
  ): Promise<AppendReceipt> {
    const { window } = this.#options.keys;
    const known = window.find(key);
    if (known !== undefined) return await this.#repeat(known, mode);
    const receipt = this.#enqueue(batch, mode);
    window.begin(key, receipt);
    return await receipt;
  }

  /**
   * Answers a request that was seen before, as durable as it asks. Errors: those of the first one.
   */
  async #repeat(known: KnownRequest, mode: AckMode): Promise<AppendReceipt> {
    const segment = known.segment ?? (await known.pending)?.segment;
    assert(segment !== undefined, "a known request is written or on its way");
    if (mode === "wait_for") {
      try {
        if (this.#current?.name === segment) await this.#current.durable(1);
        else await this.#sealing;
      } catch (error) {
        throw this.#internal("sync", error);
      }
      const refusal = this.#healer.refusal();
      if (refusal !== undefined) throw refusal;
    }
    return { segment, isRepeat: true };
  }

  #enqueue(batch: WalBatch, mode: AckMode): Promise<AppendReceipt> {
    const schemaMessage = this.#options.schemaMessageOf(batch.schema);
    const queuedMs = this.#options.clock.monotonicMs();
    return new Promise((resolve, reject) => {
      this.#queue.push({ batch, schemaMessage, mode, queuedMs, resolve, reject });
      this.#pumping ??= this.#pump();
    });
  }

  /**
   * Seals what was acknowledged so far; the name of the segment that this ended, if it held rows.
   */
  async seal(): Promise<string | undefined> {
    const segment = this.#current;
    this.#roll();
    await this.#sealing;
    if (segment?.failed || this.failure !== undefined) {
      throw this.#internal("seal the active segment", this.failure);
    }
    return segment !== undefined && segment.rows > 0 ? segment.name : undefined;
  }

  /** Waits for the appends under way and seals; no append may follow. */
  async close(): Promise<void> {
    await this.#pumping;
    this.#roll();
    const standby = await this.#standby;
    this.#standby = undefined;
    await standby?.discard().catch(() => {}); // The next start removes a segment without rows, too.
    await this.#sealing;
    await this.#healer.close();
  }

  /** Writes until the queue is empty, and ends in the turn in which it finds that. */
  async #pump(): Promise<void> {
    await null; // So that appends of one turn of the event loop share a write.
    let formed = 0; // Appends at the head of the queue that have waited for others.
    while (this.#queue.length > 0) {
      if (formed === 0 && this.#options.groupWaitMs > 0) formed = await this.#formGroup();
      const group = this.#takeGroup();
      formed -= Math.min(formed, group.length);
      const refusal = this.#healer.refusal();
      if (refusal !== undefined) {
        for (const append of group) append.reject(refusal);
        continue;
      }
      try {
        await this.#writeGroup(group);
      } catch (error) {
        this.fail(error instanceof Unbegun ? error.cause : error);
        // Where no segment could be begun, none of the rows was written: senders may repeat them.
        const refusal = error instanceof Unbegun ? this.#healer.refusal() : undefined;
        const told = refusal ?? this.#internal("append", error);
        for (const append of group) append.reject(told);
      }
    }
    this.#pumping = undefined;
  }

  /** Lets appends gather; returns how many there are then. */
  async #formGroup(): Promise<number> {
    await this.#options.clock.sleep(this.#options.groupWaitMs);
    return this.#queue.length;
  }

  /** The appends at the head of the queue that one write can take. */
  #takeGroup(): Append[] {
    const schemaMessage = this.#queue[0]?.schemaMessage;
    let rows = 0;
    let bytes = 0;
    let count = 0;
    for (const { batch, schemaMessage: message } of this.#queue) {
      if (count > 0 && (message !== schemaMessage || rows >= this.#options.eventsMax)) break;
      bytes += frameLengthMax(batch);
      if (count > 0 && bytes > GROUP_BYTES_MAX) break;
      rows += batch.rows;
      count += 1;
    }
    return this.#queue.splice(0, count);
  }

  async #writeGroup(group: readonly Append[]): Promise<void> {
    const schemaMessage = group[0]?.schemaMessage ?? new Uint8Array();
    while (this.#current?.schemaMessage !== schemaMessage) {
      await this.#open(schemaMessage).catch((cause) => Promise.reject(new Unbegun(cause)));
    }
    const segment = this.#current; // Nothing may come between this and the write: it could be rolled.
    if (segment.rows === 0) this.#startAging(segment);
    this.#tellGroup(group);
    await segment.write(group.map((append) => append.batch));

    const waiting = group.filter((append) => append.mode === "wait_for");
    for (const append of group) if (append.mode === "auto") this.#acknowledge(append, segment);
    if (waiting.length > 0) void this.#acknowledgeWhenDurable(waiting, segment);

    const { eventsMax } = this.#options;
    const mayRoll = this.#isRipe(segment) && !segment.syncing;
    if (mayRoll || segment.rows >= OVERFILL * eventsMax) this.#roll(segment);
    else if (segment.rows >= eventsMax / 2) this.#standby ??= this.#prepare(schemaMessage);
  }

  #tellGroup(group: readonly Append[]): void {
    const { clock, onEvent } = this.#options;
    const nowMs = clock.monotonicMs();
    const waitMs = nowMs - (group[0]?.queuedMs ?? nowMs);
    onEvent({ kind: "grouped", lane: this.lane, appends: group.length, waitMs });
  }

  async #acknowledgeWhenDurable(group: readonly Append[], segment: ActiveSegment): Promise<void> {
    try {
      await segment.durable(group.length);
    } catch (error) {
      for (const append of group) append.reject(this.#internal("sync", error));
      return;
    }
    for (const append of group) this.#acknowledge(append, segment);
  }

  #acknowledge(append: Append, segment: ActiveSegment): void {
    const { batch, mode } = append;
    const { rows, byteLength: bytes } = batch;
    this.#options.onEvent({ kind: "appended", lane: this.lane, rows, bytes, mode });
    append.resolve({ segment: segment.name });
  }

  /** Makes the current segment one of `schemaMessage`. */
  async #open(schemaMessage: Uint8Array): Promise<void> {
    this.#roll();
    const prepared = this.#standby;
    this.#standby = undefined;
    const standby = await prepared;
    if (standby?.schemaMessage === schemaMessage) {
      this.#current = standby;
    } else {
      await standby?.discard();
      if (standby !== undefined) this.#options.names.giveBack(standby.name);
      this.#current = await this.#create(schemaMessage);
    }
  }

  #create(schemaMessage: Uint8Array): Promise<ActiveSegment> {
    const { fs, clock, root, names, encoder } = this.#options;
    const place = {
      root,
      lane: this.lane,
      name: names.next(),
      createdMs: clock.nowMs(),
      schemaMessage,
    };
    const hooks = {
      onSync: (segment: ActiveSegment) => {
        if (this.#isRipe(segment)) this.#roll(segment);
      },
      onSyncing: (appends: number, ended: Promise<unknown>) => {
        if (appends === 0) return; // The segment is sealed.
        this.#options.onEvent({ kind: "syncing", lane: this.lane, appends, ended });
      },
      onSynced: (ms: number) => this.#options.onEvent({ kind: "synced", lane: this.lane, ms }),
      onFailure: (error: unknown) => this.fail(error),
    };
    return ActiveSegment.create(fs, place, { clock, encoder, hooks });
  }

  /**
   * Creates a segment ahead of its first frame; a failure is the lane's, found when it is needed.
   */
  async #prepare(schemaMessage: Uint8Array): Promise<ActiveSegment | undefined> {
    try {
      return await this.#create(schemaMessage);
    } catch (error) {
      this.fail(error);
      return undefined;
    }
  }

  /** Whether a segment is full and old enough to roll. */
  #isRipe(segment: ActiveSegment): boolean {
    return segment.rows >= this.#options.eventsMax &&
      this.#ripeAtMs <= this.#options.clock.monotonicMs();
  }

  /** Rolls `segment`, which gets its first row now, when it is as old as it may get. */
  #startAging(segment: ActiveSegment): void {
    const { clock, ageMsMin, ageSecsMax, eventsMax } = this.#options;
    this.#ripeAtMs = clock.monotonicMs() + ageMsMin;
    const { signal } = segment.ended;
    const wait = async () => {
      if (ageMsMin > 0) {
        await clock.sleep(ageMsMin, { signal });
        if (segment.rows >= eventsMax) return this.#roll(segment);
      }
      await clock.sleep(ageSecsMax * 1000 - ageMsMin, { signal });
      this.#roll(segment);
    };
    wait().catch(() => {}); // The segment ended first.
  }

  /**
   * Takes the current segment (only if it is `segment`, when given) out of use and has it sealed.
   */
  #roll(segment = this.#current): void {
    if (segment === undefined || segment !== this.#current) return;
    this.#current = undefined;
    segment.ended.abort();
    this.#toSeal.push(segment);
    this.#sealing = this.#sealing.then(() => this.#sealQueued());
  }

  /** Seals what was rolled so far; what is rolled meanwhile shares the next directory sync. */
  async #sealQueued(): Promise<void> {
    const segments = this.#toSeal.splice(0);
    if (segments.length === 0) return;
    try {
      if (this.#healer.failure === undefined) await this.#sealGroup(segments);
      else this.#healer.giveUp(segments);
    } catch (error) {
      this.#healer.giveUp(segments);
      this.fail(error);
    }
  }

  async #sealGroup(segments: readonly ActiveSegment[]): Promise<void> {
    const { fs, root, onEvent } = this.#options;
    for (const segment of segments) {
      await segment.finish();
      if (segment.rows === 0) continue;
      await this.#options.keys.save(segment.name, segment.keys);
      const { name, rows, byteLength: bytes, times } = segment;
      await writeSealRecord(fs, root, { lane: this.lane, name, rows, bytes, times });
      const sealed = segmentPath(root, this.lane, { state: "sealed", name });
      await linkSegment(fs, segment.path, sealed);
    }
    await fs.syncDir(stateDirectory(root, this.lane, "sealed"));
    for (const segment of segments) {
      await removeIfPresent(fs, segment.path);
      segment.close();
      if (segment.rows === 0) continue;
      const { name, rows, byteLength: bytes } = segment;
      onEvent({ kind: "sealed", lane: this.lane, segment: name, rows, bytes });
    }
    if (segments.some(({ keys }) => keys.length > 0)) this.#keysOwed = true;
    if (this.#keysOwed) await this.#removeForgottenKeys();
  }

  /** What fails here costs disk space and no row: it is owed until a later sealing succeeds. */
  async #removeForgottenKeys(): Promise<void> {
    const { keys, clock } = this.#options;
    try {
      await keys.removeForgotten(clock.nowMs());
      this.#keysOwed = false;
    } catch (error) {
      getLogger(["svc", "wal"]).warn("cannot remove old key files of lane {lane}: {error}", {
        lane: laneName(this.lane),
        error: messageOf(error),
      });
    }
  }

  /** Refuses rows from now on, gives up the segments that are open, and starts to heal. */
  fail(error: unknown): void {
    this.#healer.start(error);
    this.#roll();
    const standby = this.#standby;
    this.#standby = undefined;
    if (standby === undefined) return;
    // The next start removes a segment without rows, too.
    this.#sealing = this.#sealing.then(async () =>
      await (await standby)?.discard().catch(() => {})
    );
  }

  #internal(action: string, error: unknown): OperatingError {
    return new OperatingError(
      "internal",
      `cannot ${action} in WAL lane ${laneName(this.lane)}: ${
        faultBelow(this.#options.root, error)
      }; ` +
        `the rows may or may not be stored`,
      { reason: "wal_append_failed", cause: error },
    );
  }
}
