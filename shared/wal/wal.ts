/**
 * The WAL of one ingester: lock, recovery, a writer per lane, free-space floor. README.md of this
 * folder has the format and the crash windows.
 */

import { dirname } from "node:path";
import { assert } from "../base/assert.ts";
import { messageOf, OperatingError } from "../base/errors.ts";
import { encodeSchemaMessage } from "../columns/ipc_schema.ts";
import type { TableSchema } from "../schema/schema.ts";
import { DEFAULT_TENANT, type LaneId, laneName } from "../tenant/tenant.ts";
import type { Clock } from "../os/clock.ts";
import { ensureDirectory } from "../os/durable_directory.ts";
import type { FileLock, FileSystem } from "../os/file_system.ts";
import type { Random } from "../os/random.ts";
import { faultBelow } from "./fault_below.ts";
import { FRAME_PAYLOAD_BYTES_MAX, frameLengthMax } from "./format.ts";
import { FrameEncoder, type FrameThread } from "./frame_encoder.ts";
import { LaneKeys } from "./lane_keys.ts";
import { LaneWriter } from "./lane_writer.ts";
import { drainBellPath, drainRequestPath, isLanePart, lockPath, SegmentNames } from "./layout.ts";
import { probeDirectory } from "./probe_directory.ts";
import { makeLane, recoverLanes } from "./recovery.ts";
import { SpaceGuard } from "./space_guard.ts";
import type { AckMode, AppendReceipt, Wal, WalBatch } from "./types.ts";
import type { WalEventListener } from "./wal_event.ts";

const WAL_DEFAULTS = {
  eventsMax: 4096,
  ageSecsMax: 5,
  freeBytesMin: 256 * 1024 * 1024,
  keyAgeMsMax: 10 * 60_000,
  keysMax: 100_000,
} as const;

/** What a WAL is opened with. Sizes are in bytes, times in the unit of the name. */
export interface WalOptions {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  /** Created when it is not there. */
  readonly root: string;
  /** A segment is rolled after this many rows. Default 4096. */
  readonly eventsMax?: number;
  /** A segment is rolled when its first row is this old. Default 5 s. */
  readonly ageSecsMax?: number;
  /** A full segment does not roll while its first row is younger than this. Default 0. */
  readonly ageMsMin?: number;
  /** Appends are refused while fewer bytes are free; 0 switches that off. Default 256 MiB. */
  readonly freeBytesMin?: number;
  /** How long a lane's writer waits for more appends before each write. Default 0: not at all. */
  readonly groupWaitMs?: number;
  /** How long a lane remembers an idempotency key. Default 10 minutes. */
  readonly keyAgeMsMax?: number;
  /** How many keys a lane remembers, the newest ones. Default 100,000. */
  readonly keysMax?: number;
  /**
   * Packs rows beside the caller's thread. Default: that thread does. It stays the caller's to end.
   */
  readonly frameThread?: FrameThread;
  readonly onEvent?: WalEventListener;
}

/**
 * Opens the WAL at `root` for writing: takes its lock, recovers what an earlier process left, and
 * seals it. Errors: `conflict` when another process has it open, `unavailable` when it cannot be
 * read or written, `unimplemented` when it holds active segments of another version.
 */
export async function openWal(options: WalOptions): Promise<Wal> {
  const { fs, root } = options;
  const lock = await takeLock(fs, root);
  try {
    const names = new SegmentNames(options.clock, options.random);
    const onEvent = options.onEvent ?? (() => {});
    const freeBytesMin = options.freeBytesMin ?? WAL_DEFAULTS.freeBytesMin;
    const space = new SpaceGuard(fs, options.clock, { path: root, freeBytesMin });
    await space.refresh();
    await recoverLanes(fs, root, {
      names,
      onSalvaged: (salvaged) => onEvent({ kind: "salvaged", ...salvaged }),
    });
    return new OpenWal(lock, space, {
      fs,
      clock: options.clock,
      root,
      eventsMax: options.eventsMax ?? WAL_DEFAULTS.eventsMax,
      ageSecsMax: options.ageSecsMax ?? WAL_DEFAULTS.ageSecsMax,
      ageMsMin: options.ageMsMin ?? 0,
      groupWaitMs: options.groupWaitMs ?? 0,
      keyAgeMsMax: options.keyAgeMsMax ?? WAL_DEFAULTS.keyAgeMsMax,
      keysMax: options.keysMax ?? WAL_DEFAULTS.keysMax,
      names,
      encoder: new FrameEncoder(options.frameThread),
      onEvent,
    });
  } catch (error) {
    lock[Symbol.dispose]();
    if (error instanceof OperatingError) throw error;
    throw cannotOpen(root, error);
  }
}

async function takeLock(fs: FileSystem, root: string): Promise<FileLock> {
  let lock: FileLock | undefined;
  try {
    // Also where it is there: an earlier start may have ended between making and syncing it.
    await ensureDirectory(fs, root);
    lock = await fs.tryLock(lockPath(root));
  } catch (error) {
    throw cannotOpen(root, error);
  }
  if (lock !== undefined) return lock;
  throw new OperatingError(
    "conflict",
    `cannot open the WAL at ${root}: another process holds ${lockPath(root)}; ` +
      `stop that ingest server or give this one another --wal or --data-dir`,
    { reason: "wal_locked" },
  );
}

function cannotOpen(root: string, error: unknown): OperatingError {
  return new OperatingError(
    "unavailable",
    `cannot open the WAL at ${root}: ${messageOf(error)}; ` +
      `it must be a directory that this process may read and write`,
    { reason: "wal_unusable", cause: error },
  );
}

const LANE_RETRY_SECS = 5;
/**
 * Senders choose the names of lanes, and those that cannot be opened count for no limit of theirs.
 */
const UNOPENED_MAX = 1_000;

/**
 * Nothing was written, so the rows may be sent again: an `internal` would have senders drop them.
 */
function cannotOpenLane(lane: LaneId, root: string, error: unknown): OperatingError {
  return new OperatingError(
    "unavailable",
    `cannot open WAL lane ${laneName(lane)}: ${faultBelow(root, error)}; nothing was stored, ` +
      `send the rows again`,
    { reason: "wal_lane_failed", retryAfterSecs: LANE_RETRY_SECS, cause: error },
  );
}

/** For `/readyz`, which asks nobody who they are: lanes of tenants are named in the log alone. */
function failedLane(name: string, failure: string): string {
  return name.startsWith(`${DEFAULT_TENANT}/`)
    ? `WAL lane ${name}: ${failure}`
    : "a tenant's WAL lane takes no rows until its disk works again; the log names it";
}

function rootGone(): OperatingError {
  return new OperatingError(
    "unavailable",
    "the WAL's directory is not there any more: mount it or make it again; nothing was stored, send the rows again",
    { reason: "wal_gone", retryAfterSecs: LANE_RETRY_SECS },
  );
}

function rootTaken(): OperatingError {
  return new OperatingError(
    "unavailable",
    "another process has opened the WAL's directory since it was away: stop one of the two; nothing was stored, " +
      "send the rows again",
    { reason: "wal_locked", retryAfterSecs: LANE_RETRY_SECS },
  );
}

interface Settings {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly root: string;
  readonly eventsMax: number;
  readonly ageSecsMax: number;
  readonly ageMsMin: number;
  readonly groupWaitMs: number;
  readonly keyAgeMsMax: number;
  readonly keysMax: number;
  readonly names: SegmentNames;
  readonly encoder: FrameEncoder;
  readonly onEvent: WalEventListener;
}

class OpenWal implements Wal {
  #lock: FileLock;
  readonly #space: SpaceGuard;
  readonly #settings: Settings;
  readonly #schemaMessages = new SchemaMessages();
  readonly #lanes = new Map<string, Promise<LaneWriter>>();
  /** The lanes that are open, for the hot path and for `unreadyReason`. */
  readonly #opened = new Map<string, LaneWriter>();
  /**
   * Lanes that could not be opened, told of once until they can be; the one told of first is
   * forgotten first.
   */
  readonly #unopened = new Set<string>();
  /** Set while our root is not there: what is written to open files then is in no directory. */
  #gone: OperatingError | undefined;
  #closing: Promise<void> | undefined;
  /** What `unreadyReason` does now: it makes a file in the root, and may lock another root. */
  readonly #looks = new Set<Promise<unknown>>();

  constructor(lock: FileLock, space: SpaceGuard, settings: Settings) {
    this.#lock = lock;
    this.#space = space;
    this.#settings = settings;
  }

  append(lane: LaneId, batch: WalBatch, mode: AckMode): Promise<AppendReceipt> {
    assert(batch.rows > 0, "append of a batch without rows");
    assert(batch.byteLength % 8 === 0, "append of a message that is not padded to 8 bytes");
    const refusal = this.#refusal(batch);
    if (refusal !== undefined) return Promise.reject(refusal);
    this.#space.spend(frameLengthMax(batch));
    const writer = this.#opened.get(laneName(lane));
    return writer?.append(batch, mode) ?? this.#appendFirst(lane, batch, mode);
  }

  /** Why the WAL takes no such batch now. */
  #refusal(batch: WalBatch): OperatingError | undefined {
    if (this.#closing !== undefined) return this.#closed();
    if (this.#gone !== undefined) return this.#gone;
    const bytes = Math.max(batch.byteLength, batch.plainBytes);
    return bytes > FRAME_PAYLOAD_BYTES_MAX ? tooLarge(bytes) : this.#space.refusal();
  }

  /** Appends to a lane that is not open. */
  async #appendFirst(lane: LaneId, batch: WalBatch, mode: AckMode): Promise<AppendReceipt> {
    const writer = await this.#open(lane);
    if (this.#closing !== undefined) throw this.#closed();
    return await writer.append(batch, mode);
  }

  async seal(lane: LaneId): Promise<string | undefined> {
    return await this.#opened.get(laneName(lane))?.seal();
  }

  async requestDrain(lane: LaneId): Promise<void> {
    await this.#open(lane);
    const { fs, clock, root } = this.#settings;
    await createIfMissing(fs, drainRequestPath(root, lane));
    await createIfMissing(fs, drainBellPath(root));
    await fs.setModified(drainBellPath(root), clock.nowMs());
  }

  async unreadyReason(): Promise<string | undefined> {
    if (this.#closing !== undefined) return this.#closed().message;
    const look = this.#look();
    this.#looks.add(look);
    try {
      return await look;
    } finally {
      this.#looks.delete(look);
    }
  }

  async #look(): Promise<string | undefined> {
    try {
      await this.#lookForRoot();
      if (this.#gone !== undefined) return this.#gone.message;
      for (const [name, writer] of this.#opened) {
        if (writer.failure !== undefined) return failedLane(name, writer.failure);
      }
      await this.#space.refresh();
      const refusal = this.#space.refusal();
      if (refusal !== undefined) return refusal.message;
      await probeDirectory(this.#settings.fs, this.#settings.root);
    } catch (error) {
      return `WAL probe: ${faultBelow(this.#settings.root, error)}`;
    }
    return undefined;
  }

  /**
   * Open lanes begin anew once a root is there again, be it another directory: their files may have
   * gone with it. So may the lock, which is taken of the one that is there.
   */
  async #lookForRoot(): Promise<void> {
    if (this.#gone === undefined) {
      // What else keeps it from being looked at is the probe's to tell.
      if (await this.#lock.isInPlace().catch(() => true)) return;
      this.#gone = rootGone();
      for (const writer of this.#opened.values()) writer.fail(this.#gone);
    }
    const { fs, root } = this.#settings;
    if (!await fs.exists(root)) return;
    this.#lock[Symbol.dispose]();
    const lock = await fs.tryLock(lockPath(root));
    if (this.#closing !== undefined) return lock?.[Symbol.dispose]();
    this.#lock = lock ?? this.#lock;
    this.#gone = lock === undefined ? rootTaken() : undefined;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    try {
      await Promise.allSettled([...this.#looks, ...this.#lanes.values()]);
      await Promise.all(Array.from(this.#opened.values(), (writer) => writer.close()));
    } finally {
      this.#lock[Symbol.dispose]();
    }
  }

  /** The lane's writer; its directories are created and durable when this resolves. */
  #open(lane: LaneId): Promise<LaneWriter> {
    const name = laneName(lane);
    let opening = this.#lanes.get(name);
    if (opening === undefined) {
      opening = this.#openLane(lane);
      this.#lanes.set(name, opening);
      // A lane whose directories could not be made is tried again by the next append.
      opening.catch(() => this.#lanes.delete(name));
    }
    return opening;
  }

  async #openLane(lane: LaneId): Promise<LaneWriter> {
    const name = laneName(lane);
    assert(isLanePart(lane.tenant) && isLanePart(lane.index), `lane ${name}`);
    const { fs, root, onEvent } = this.#settings;
    let keys: LaneKeys;
    try {
      await makeLane(fs, root, lane);
      keys = await LaneKeys.load({ ...this.#settings, lane });
    } catch (error) {
      if (!this.#unopened.has(name)) onEvent({ kind: "failed", lane, error });
      this.#remember(name);
      throw cannotOpenLane(lane, root, error);
    }
    if (this.#unopened.delete(name)) onEvent({ kind: "healed", lane });
    const writer = new LaneWriter(lane, {
      ...this.#settings,
      keys,

      schemaMessageOf: (schema) => this.#schemaMessages.of(schema),
      requireRoot: () => {
        if (this.#gone !== undefined) throw this.#gone;
      },
    });
    this.#opened.set(name, writer);
    return writer;
  }

  #remember(unopened: string): void {
    this.#unopened.add(unopened);
    const [oldest] = this.#unopened;
    if (this.#unopened.size > UNOPENED_MAX && oldest !== undefined) this.#unopened.delete(oldest);
  }

  #closed(): OperatingError {
    return new OperatingError("unavailable", "the WAL is closed: this server is ending", {
      reason: "wal_closed",
      retryAfterSecs: 1,
    });
  }
}

/**
 * One message object per distinct schema, so that "same schema" is one comparison of references.
 */
class SchemaMessages {
  readonly #bySchema = new WeakMap<TableSchema, Uint8Array>();
  readonly #byContent = new Map<string, Uint8Array>();

  of(schema: TableSchema): Uint8Array {
    let message = this.#bySchema.get(schema);
    if (message === undefined) {
      const encoded = encodeSchemaMessage(schema);
      const content = encoded.join();
      message = this.#byContent.get(content) ?? encoded;
      this.#byContent.set(content, message);
      this.#bySchema.set(schema, message);
    }
    return message;
  }
}

function tooLarge(bytes: number): OperatingError {
  return new OperatingError(
    "too_large",
    `cannot append a batch of ${bytes} bytes: a WAL frame holds at most ` +
      `${FRAME_PAYLOAD_BYTES_MAX}; send fewer records a request`,
    { reason: "wal_frame_too_large" },
  );
}

async function createIfMissing(fs: FileSystem, path: string): Promise<void> {
  try {
    await using _file = await fs.create(path);
  } catch (error) {
    // A drain that looks at this very moment takes a request away while it is being made: it was
    // made.
    if (error instanceof Deno.errors.NotFound && await fs.exists(dirname(path))) return;
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}
