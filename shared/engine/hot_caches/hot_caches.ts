/**
 * Answers of `last_values()` and `distinct_values()` from memory. Each WAL segment has a summary,
 * which is made once, added to while the segment grows, and forgotten with it. A call lists the
 * lane, reads what was appended since the last call, and merges.
 *
 * "Hot" is what the WAL holds when the call is planned. These are rows that no table has yet, and
 * rows that were committed within the last minute or so (a committed segment stays 60 s at least).
 * The answer is exact for these rows; it is no statement about the table. Tenants are apart because
 * their lanes are.
 */

import { isOperatingError, messageOf, OperatingError } from "../../base/errors.ts";
import { getLogger } from "@logtape/logtape";
import { decodeBatch, decodeSchemaMessage, epochOfSchemaMessage } from "../../columns/ipc.ts";
import type { RowObject } from "../../columns/rows.ts";
import type { Column } from "../../schema/schema.ts";
import { type LaneId, laneName } from "../../tenant/tenant.ts";
import type { FrameDamage, NamedSegment, SegmentReader, WalReader } from "../../wal/types.ts";
import { type LostRows, sumOfLost } from "../plan/lost_rows.ts";
import { type LastRow, SegmentSummary, type ValueCount } from "./segment_summary.ts";

/** Is told what the caches do. */
export interface HotCacheMeter {
  /** Tells what all summaries are now. */
  held(summaries: { readonly bytes: number; readonly segments: number }): void;
  /**
   * Tells of segments that a call asked about: those whose summary was complete, and those of which
   * something had to be read.
   */
  asked(segments: { readonly hits: number; readonly misses: number }): void;
}

/** The WAL that is read, and the bound on what is kept. */
export interface HotCachesOptions {
  readonly wal: WalReader;
  readonly meter?: HotCacheMeter;
  /**
   * Bytes of all summaries; default 64 MiB. The lane that was asked about least recently goes
   * first.
   */
  readonly bytesMax?: number;
}

/** The lane that a call asks about, and how its rows are counted. */
export interface HotQuestion {
  readonly lane: LaneId;
  /** Columns by which the lane's rows are counted. */
  readonly tags: readonly string[];
  /** Segments of an earlier epoch are left out: `TableSchema.epoch`. */
  readonly epoch: number;
  readonly signal: AbortSignal;
}

const BYTES_MAX = 64 * 1024 * 1024;

interface HotSegment {
  readonly summary: SegmentSummary;
  columns: readonly Column[];
  epoch: number;
  nextOffset: number | undefined;
  complete: boolean;
  /** What of it cannot be read. */
  lost: LostRows | undefined;
}

interface HotLane {
  readonly segments: Map<string, HotSegment>;
  /** The `tags` that the summaries were made with. */
  readonly tagsText: string;
  /** The refresh that was begun last. Refreshes follow each other. */
  turn: Promise<void>;
}

/** The hot caches of a server, over all lanes. */
export class HotCaches {
  readonly #wal: WalReader;
  readonly #bytesMax: number;
  readonly #meter: HotCacheMeter | undefined;
  /** Lanes, least recently asked about first. */
  readonly #lanes = new Map<string, HotLane>();

  constructor({ wal, bytesMax = BYTES_MAX, meter }: HotCachesOptions) {
    this.#wal = wal;
    this.#meter = meter;
    this.#bytesMax = bytesMax;
  }

  /** About how many bytes all summaries have. */
  get bytes(): number {
    return [...this.#lanes.values()].reduce((sum, lane) => sum + bytesOf(lane), 0);
  }

  /** A lane that is being read goes on with its own summaries. */
  giveWay(): void {
    this.#lanes.clear();
    this.#meter?.held({ bytes: 0, segments: 0 });
  }

  get #segments(): number {
    return [...this.#lanes.values()].reduce((sum, { segments }) => sum + segments.size, 0);
  }

  /**
   * The newest row of each combination of tags, and the columns of the newest segment. Errors:
   * those of `distinctValues`.
   */
  async lastValues(
    question: HotQuestion,
  ): Promise<{ readonly columns: readonly Column[] | undefined; readonly rows: RowObject[] }> {
    const segments = await this.#refreshed(question);
    const newest = new Map<string, LastRow>();
    for (const { summary } of segments) {
      for (const [key, last] of summary.lastRows) {
        const known = newest.get(key);
        if (known === undefined || known.ns <= last.ns) newest.set(key, last);
      }
    }
    return { columns: segments.at(-1)?.columns, rows: [...newest.values()].map(({ row }) => row) };
  }

  /**
   * How often each value of `tag` occurs, and when last. Errors: `unavailable` (`hot_cache_full`)
   * when the lane's summaries alone exceed the bound; the WAL's; the signal's.
   */
  async distinctValues(
    question: HotQuestion,
    tag: string,
  ): Promise<ReadonlyMap<string, ValueCount>> {
    const merged = new Map<string, ValueCount>();
    for (const { summary } of await this.#refreshed(question)) {
      for (const [text, { rows, lastNs }] of summary.values.get(tag) ?? []) {
        const known = merged.get(text);
        merged.set(text, {
          rows: rows + (known?.rows ?? 0),
          lastNs: known !== undefined && known.lastNs > lastNs ? known.lastNs : lastNs,
        });
      }
    }
    return merged;
  }

  /** What the last answer about the lane lacked because it is damaged. */
  lostOf({ lane, epoch }: Pick<HotQuestion, "lane" | "epoch">): LostRows | undefined {
    const segments = this.#lanes.get(laneName(lane))?.segments.values() ?? [];
    return sumOfLost([...segments].map((one) => one.epoch >= epoch ? one.lost : undefined));
  }

  /** The lane's segments of the epoch, oldest first, with all that was appended before the call. */
  async #refreshed(question: HotQuestion): Promise<HotSegment[]> {
    const lane = this.#take(question);
    const turn = lane.turn.then(() => this.#refresh(lane, question));
    lane.turn = turn.catch(() => {});
    try {
      await turn;
    } finally {
      this.#meter?.held({ bytes: this.bytes, segments: this.#segments });
    }
    return [...lane.segments]
      .filter(([, { epoch }]) => epoch >= question.epoch)
      .sort(([a], [b]) => a < b ? -1 : 1)
      .map(([, segment]) => segment);
  }

  #take({ lane, tags }: HotQuestion): HotLane {
    const name = laneName(lane);
    const tagsText = JSON.stringify(tags);
    const known = this.#lanes.get(name);
    this.#lanes.delete(name);
    // With other tags the index was configured anew, and its rows are counted anew.
    const taken = known?.tagsText === tagsText
      ? known
      : { segments: new Map(), tagsText, turn: Promise.resolve() };
    this.#lanes.set(name, taken);
    return taken;
  }

  async #refresh(hot: HotLane, { lane, tags, signal }: HotQuestion): Promise<void> {
    const listed = await this.#wal.names(lane, ["active", "sealed", "committed"]);
    const names = new Set(listed.map(({ name }) => name));
    for (const name of hot.segments.keys()) if (!names.has(name)) hot.segments.delete(name);
    let hits = 0;
    for (const info of listed) {
      signal.throwIfAborted();
      if (hot.segments.get(info.name)?.complete === true) {
        hits += 1;
        continue;
      }
      try {
        if (!await this.#read(hot, info, { tags, signal })) hits += 1;
      } catch (error) {
        // The segment was swept since it was listed, or its header is damaged, which a scan of the
        // WAL tells.
        if (!isOperatingError(error, "not_found") && !isOperatingError(error, "corrupt")) {
          throw error;
        }
        hot.segments.delete(info.name);
      }
    }
    this.#meter?.asked({ hits, misses: listed.length - hits });
  }

  /** Adds what was appended since. Returns whether there was anything. */
  async #read(
    hot: HotLane,
    info: NamedSegment,
    { tags, signal }: { readonly tags: readonly string[]; readonly signal: AbortSignal },
  ): Promise<boolean> {
    await using reader = await this.#wal.open(info.lane, info.name);
    const segment = hot.segments.get(info.name) ?? newSegment(reader);
    hot.segments.set(info.name, segment);
    const schema = { columns: segment.columns, tags: [] };
    const offsetBefore = segment.nextOffset;
    try {
      const onDamage = ({ offset, endOffset, rows }: FrameDamage) => {
        const segments = segment.lost === undefined ? 1 : 0;
        segment.lost = sumOfLost([segment.lost, { segments, bytes: endOffset - offset, rows }]);
      };
      for await (const frame of reader.frames(segment.nextOffset, { onDamage })) {
        segment.summary.add(decodeBatch(frame.message, schema), tags);
        segment.nextOffset = frame.endOffset;
        this.#trim(hot, info.lane);
        signal.throwIfAborted();
      }
    } catch (error) {
      if (!isOperatingError(error, "corrupt")) throw error;
      // A scan of the WAL lacks these rows, too, and tells of it.
      getLogger(["svc", "engine"]).debug("a WAL segment is damaged: {error}", {
        error: messageOf(error),
      });
    }
    segment.complete = info.state !== "active";
    return segment.nextOffset !== offsetBefore;
  }

  /**
   * Keeps the bound while a lane is read, frame by frame. A lane with too many values is given up
   * before it is all read.
   */
  #trim(own: HotLane, lane: LaneId): void {
    let bytes = this.bytes;
    for (const [name, other] of [...this.#lanes]) {
      if (bytes <= this.#bytesMax) return;
      bytes -= bytesOf(other);
      this.#lanes.delete(name);
      if (other !== own) continue;
      throw new OperatingError(
        "unavailable",
        `Cannot answer from the hot caches: what the WAL holds of ${laneName(lane)} has more ` +
          "distinct values than fit; ask the table itself, SELECT … GROUP BY",
        { reason: "hot_cache_full", retryAfterSecs: 60 },
      );
    }
  }
}

function bytesOf(lane: HotLane): number {
  let bytes = 0;
  for (const { summary } of lane.segments.values()) bytes += summary.bytes;
  return bytes;
}

function newSegment({ schemaMessage }: SegmentReader): HotSegment {
  return {
    summary: new SegmentSummary(),
    columns: decodeSchemaMessage(schemaMessage),
    epoch: epochOfSchemaMessage(schemaMessage),
    nextOffset: undefined,
    complete: false,
    lost: undefined,
  };
}
