/**
 * One segment while it is written: appends frames, and makes them durable in groups. One
 * `fdatasync` serves every frame written before it started; those written meanwhile form the next
 * group.
 *
 * Invariants: frames lie in the file in the order of `write`, one write at a time. After the first
 * failed write or sync the segment takes nothing more and promises nothing more (`failed`). Not
 * covered: when to roll, and what becomes of a failed segment (`lane_writer.ts`).
 */

import { assert } from "../base/assert.ts";
import type { LaneId } from "../tenant/tenant.ts";
import type { Clock } from "../os/clock.ts";
import type { File, FileSystem } from "../os/file_system.ts";
import { encodeHeader } from "./format.ts";
import type { FrameEncoder } from "./frame_encoder.ts";
import type { FrameKey } from "./frame_key.ts";
import { segmentPath, stateDirectory, temporaryPath } from "./layout.ts";
import { removeIfPresent } from "./transfer.ts";
import { joinTimes } from "./frame_times.ts";
import type { FrameTimes, WalBatch } from "./types.ts";

export interface NewSegment {
  readonly root: string;
  readonly lane: LaneId;
  readonly name: string;
  readonly createdMs: number;
  readonly schemaMessage: Uint8Array;
}

export interface SegmentHooks {
  /** Called before each sync, with the frames it will cover already written. */
  onSync(segment: ActiveSegment): void;
  /**
   * Called when it runs: how many appends wait for it, and its end, which rejects where it fails.
   */
  onSyncing(appends: number, ended: Promise<unknown>): void;
  /** Called after each sync with how long it took. */
  onSynced(ms: number): void;
  /** Called once, at the first failure. */
  onFailure(error: unknown): void;
}

interface Waiter {
  readonly appends: number;
  resolve(): void;
  reject(error: unknown): void;
}

export class ActiveSegment {
  readonly name: string;
  readonly path: string;
  readonly schemaMessage: Uint8Array;
  rows = 0;
  /** Times of the rows written so far. */
  times: FrameTimes | undefined;
  /** Idempotency keys of the frames written so far. */
  readonly keys: FrameKey[] = [];
  /** Aborts when the segment is rolled or fails: for timers. */
  readonly ended = new AbortController();

  readonly #fs: FileSystem;
  readonly #clock: Clock;
  readonly #file: File;
  readonly #frameSeed: number;
  readonly #hooks: SegmentHooks;
  readonly #encoder: FrameEncoder;
  /** Resolves when the segment's name is durable. */
  readonly #named: Promise<void>;
  #byteLength: number;
  #syncedLength = 0;
  #writing: Promise<void> = Promise.resolve();
  #syncing: Promise<void> | undefined;
  #waiters: Waiter[] = [];
  #failed = false;

  /** Creates the file with its header; its name becomes durable in the background. */
  static async create(
    fs: FileSystem,
    place: NewSegment,
    options: { clock: Clock; encoder: FrameEncoder; hooks: SegmentHooks },
  ): Promise<ActiveSegment> {
    const directory = stateDirectory(place.root, place.lane, "active");
    const temporary = temporaryPath(directory, place.name);
    const header = encodeHeader(place);
    const file = await fs.create(temporary);
    try {
      await file.write(header.bytes);
      const path = segmentPath(place.root, place.lane, { state: "active", name: place.name });
      await fs.rename(temporary, path);
      const named = fs.syncDir(directory);
      named.catch(() => {}); // Whoever waits for durability sees it; nobody has to.
      return new ActiveSegment(fs, file, { ...place, ...options, path, header, named });
    } catch (error) {
      file.close();
      await removeIfPresent(fs, temporary).catch(() => {}); // Else the next start does.
      throw error;
    }
  }

  private constructor(
    fs: FileSystem,
    file: File,
    state: NewSegment & {
      path: string;
      header: { bytes: Uint8Array; frameSeed: number };
      named: Promise<void>;
      clock: Clock;
      encoder: FrameEncoder;
      hooks: SegmentHooks;
    },
  ) {
    this.#fs = fs;
    this.#clock = state.clock;
    this.#file = file;
    this.name = state.name;
    this.path = state.path;
    this.schemaMessage = state.schemaMessage;
    this.#frameSeed = state.header.frameSeed;
    this.#byteLength = state.header.bytes.byteLength;
    this.#named = state.named;
    this.#encoder = state.encoder;
    this.#hooks = state.hooks;
  }

  get byteLength(): number {
    return this.#byteLength;
  }

  get failed(): boolean {
    return this.#failed;
  }

  get syncing(): boolean {
    return this.#syncing !== undefined;
  }

  /** Appends one frame per batch with one write; they are readable when it resolves. */
  write(batches: readonly WalBatch[]): Promise<void> {
    assert(!this.#failed, "write to a failed segment");
    this.#writing = this.#write(batches);
    return this.#writing;
  }

  async #write(batches: readonly WalBatch[]): Promise<void> {
    try {
      const frames = await this.#encoder.encode(batches, this.#frameSeed);
      try {
        await this.#file.write(frames.bytes.subarray(0, frames.length));
      } finally {
        this.#encoder.release(frames);
      }
      this.#byteLength += frames.length;
    } catch (error) {
      this.#fail(error);
      throw error;
    }
    for (const batch of batches) {
      const { rows, key } = batch;
      this.rows += rows;
      this.times = joinTimes(this.times, batch);
      if (key !== undefined) this.keys.push(key);
    }
  }

  /**
   * Resolves when every frame written so far, and the segment's name, are durable; `appends` wait
   * for that.
   */
  durable(appends = 0): Promise<void> {
    if (this.#failed) return Promise.reject(new Error(`segment ${this.name} failed before`));
    if (this.#syncedLength === this.#byteLength) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiters.push({ appends, resolve, reject });
      this.#syncing ??= this.#sync();
    });
  }

  /**
   * Syncs until nobody waits. It ends in the same turn in which it finds that, so no waiter is left
   * behind.
   */
  async #sync(): Promise<void> {
    while (this.#waiters.length > 0 && !this.#failed) {
      this.#hooks.onSync(this);
      const group = this.#waiters;
      const length = this.#byteLength;
      const startedMs = this.#clock.monotonicMs();
      this.#waiters = [];
      try {
        const ended = Promise.all([this.#file.sync(), this.#named]);
        this.#hooks.onSyncing(group.reduce((sum, { appends }) => sum + appends, 0), ended);
        await ended;
        this.#syncedLength = length;
        for (const waiter of group) waiter.resolve();
        this.#hooks.onSynced(this.#clock.monotonicMs() - startedMs);
      } catch (error) {
        for (const waiter of group) waiter.reject(error);
        this.#fail(error);
      }
    }
    this.#syncing = undefined;
  }

  /**
   * Waits for what is under way and makes everything durable; the segment must not be written any
   * more.
   */
  async finish(): Promise<void> {
    await this.#writing.catch(() => {});
    await this.durable();
  }

  /** Waits for what is under way, whatever becomes of it, and closes the file. */
  async quiesce(): Promise<void> {
    await this.#writing.catch(() => {});
    await this.#syncing;
    this.close();
  }

  close(): void {
    this.ended.abort();
    this.#file.close();
  }

  /** Removes a segment without rows. */
  async discard(): Promise<void> {
    assert(this.rows === 0, "discard of a segment that holds rows");
    await this.#named.catch(() => {});
    this.close();
    await removeIfPresent(this.#fs, this.path);
  }

  #fail(error: unknown): void {
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
    if (this.#failed) return;
    this.#failed = true;
    this.ended.abort();
    this.#hooks.onFailure(error);
  }
}
