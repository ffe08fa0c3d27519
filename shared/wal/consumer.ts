/**
 * A consumer of one lane (docs/api/follow.md#wal-consumers): every sealed segment of a lane at
 * least once, oldest first, beside the drain and independent of it. The segment's name is the
 * dedupe token.
 *
 * A consumer that keeps up (it commits at least every five minutes while there are segments) misses
 * nothing; one that falls behind finds segments swept, and `read` says so.
 */

import { join } from "node:path";
import { OperatingError } from "../base/errors.ts";
import { DEFAULT_TENANT, type LaneId, laneName } from "../tenant/tenant.ts";
import { EVENTS_TABLE } from "../schema/events.ts";
import type { Clock } from "../os/clock.ts";
import { mkdirDurable, nearestExisting } from "../os/durable_directory.ts";
import type { FileSystem } from "../os/file_system.ts";
import { consumersDirectory, isConsumerFile, isLanePart, isSegmentName } from "./layout.ts";
import { openWalReader } from "./reader.ts";
import type { SegmentInfo, SegmentReader } from "./types.ts";
import { readWatermark, type Watermark, writeWatermark } from "./watermark.ts";

export interface ConsumerOptions {
  readonly fs: FileSystem;
  readonly clock: Clock;
  /** Letters, digits, `.`, `_`, `-`; one process at a time may use it. */
  readonly consumerId: string;
  /** Root of the WAL. */
  readonly walDir: string;
  /** Where the cursor is kept; created when it is not there. */
  readonly stateDir: string;
  /** Default: the lane of `events` of the default tenant. */
  readonly lane?: LaneId;
}

export interface Consumer {
  /** The last committed segment's name, or null. */
  readonly position: string | null;
  /** Complete segments behind the cursor, oldest first; also those that a table holds already. */
  poll(): Promise<SegmentInfo[]>;
  /**
   * Opens a polled segment; its frames are checked as they are read. Errors: `not_found` ("segment
   * no longer present") when it was swept, `corrupt` when its bytes are damaged.
   */
  read(name: string): Promise<SegmentReader>;
  /**
   * Says that every segment up to `name` is processed; durable when it resolves. Errors:
   * `invalid_argument` when that would move the cursor back.
   */
  commit(name: string): Promise<void>;
  /** Forgets the cursor and releases what it held; the consumer is not used afterwards. */
  withdraw(): Promise<void>;
}

/**
 * Opens or continues a consumer. Errors: `invalid_argument`, `corrupt` when its cursor cannot be
 * read.
 */
export async function openConsumer(options: ConsumerOptions): Promise<Consumer> {
  const { fs, clock, walDir, stateDir, consumerId } = options;
  const lane = options.lane ?? { tenant: DEFAULT_TENANT, index: EVENTS_TABLE };
  if (!isConsumerFile(`${consumerId}.json`)) {
    throw new OperatingError(
      "invalid_argument",
      `cannot open consumer ${JSON.stringify(consumerId)}: an id has 1 to 128 letters, digits, ` +
        `".", "_" or "-" and does not begin with "."`,
    );
  }
  if (!isLanePart(lane.tenant) || !isLanePart(lane.index)) {
    throw new OperatingError(
      "invalid_argument",
      `cannot open a consumer of tenant ${JSON.stringify(lane.tenant)}, index ` +
        `${JSON.stringify(lane.index)}: both have 1 to 128 letters, digits, ".", "_" or "-" and ` +
        `do not begin with "."`,
    );
  }
  const stateLaneDir = join(stateDir, lane.tenant, lane.index);
  const published = consumersDirectory(walDir, lane);
  await mkdirDurable(fs, await nearestExisting(fs, stateDir), stateLaneDir);
  await mkdirDurable(fs, walDir, published);
  const consumer = new LaneConsumer(fs, clock, {
    walDir,
    lane,
    cursorPath: join(stateLaneDir, `${consumerId}.json`),
    publishedPath: join(published, `${consumerId}.json`),
  });
  await consumer.start();
  return consumer;
}

class LaneConsumer implements Consumer {
  readonly #fs: FileSystem;
  readonly #clock: Clock;
  readonly #walDir: string;
  readonly #lane: LaneId;
  readonly #cursorPath: string;
  readonly #publishedPath: string;
  #watermark: Watermark;

  constructor(
    fs: FileSystem,
    clock: Clock,
    place: { walDir: string; lane: LaneId; cursorPath: string; publishedPath: string },
  ) {
    this.#fs = fs;
    this.#clock = clock;
    this.#walDir = place.walDir;
    this.#lane = place.lane;
    this.#cursorPath = place.cursorPath;
    this.#publishedPath = place.publishedPath;
    const nowMs = clock.nowMs();
    this.#watermark = { openedMs: nowMs, upTo: null, movedMs: nowMs };
  }

  async start(): Promise<void> {
    const kept = await readWatermark(this.#fs, this.#cursorPath);
    if (kept === null) {
      throw new OperatingError(
        "corrupt",
        `cannot continue the consumer of lane ${laneName(this.#lane)}: ${this.#cursorPath} is no ` +
          `cursor; remove it to start again with the oldest segment`,
      );
    }
    await this.#write(kept ?? this.#watermark);
  }

  get position(): string | null {
    return this.#watermark.upTo;
  }

  async poll(): Promise<SegmentInfo[]> {
    const segments = await openWalReader(this.#fs, this.#walDir)
      .list(this.#lane, ["active", "sealed", "committed"]);
    // A directory listing may show a younger segment sealed and miss an older one that is sealed at
    // that moment. The older one was still seen in `active/`, and nothing behind it may be handed
    // out before it.
    const firstActive = segments.findIndex((segment) => segment.state === "active");
    const complete = firstActive < 0 ? segments : segments.slice(0, firstActive);
    const upTo = this.#watermark.upTo ?? "";
    return complete.filter((segment) => segment.name > upTo);
  }

  read(name: string): Promise<SegmentReader> {
    return openWalReader(this.#fs, this.#walDir).open(this.#lane, name);
  }

  async commit(name: string): Promise<void> {
    const { openedMs, upTo } = this.#watermark;
    if (!isSegmentName(name) || (upTo !== null && name < upTo)) {
      throw new OperatingError(
        "invalid_argument",
        `cannot commit segment ${JSON.stringify(name)} of lane ${
          laneName(this.#lane)
        }: the cursor ` +
          `is at ${upTo ?? "the start"}; commit names that poll returned, oldest first`,
      );
    }
    if (name === upTo) return;
    await this.#write({ openedMs, upTo: name, movedMs: this.#clock.nowMs() });
  }

  async withdraw(): Promise<void> {
    await this.#fs.remove(this.#publishedPath);
    await this.#fs.remove(this.#cursorPath);
  }

  /** The cursor first: the published copy may lag behind it, never run ahead. */
  async #write(watermark: Watermark): Promise<void> {
    await writeWatermark(this.#fs, this.#cursorPath, watermark);
    this.#watermark = watermark;
    await writeWatermark(this.#fs, this.#publishedPath, watermark);
  }
}
