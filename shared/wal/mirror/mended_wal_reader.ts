/**
 * A WAL on disk whose damaged frames are read from the mirror's copies of their segments. What the
 * mirror does not have, or has damaged as well, stays damaged and is told.
 *
 * The mirror is asked for damaged segments alone. While it cannot be reached a damaged segment
 * cannot be read: whoever drains it tries again, and no row is given up that has a copy.
 */

import { isOperatingError } from "../../base/errors.ts";
import type { LaneId } from "../../tenant/tenant.ts";
import type { ReadableStore } from "../../storage/object_store.ts";
import { damagedFrame } from "../reader.ts";
import type { FrameDamage, FramesOptions, SegmentReader, WalFrame, WalReader } from "../types.ts";
import { isMirrorable } from "./mirror_layout.ts";
import { openMirrorWalReader } from "./mirror_wal_reader.ts";

export interface MendOptions {
  readonly store: ReadableStore;
  readonly prefix: string;
}

/** `wal` with what `options.store` has of it. Errors: those of `WalReader`, and the store's. */
export function mendedWalReader(wal: WalReader, options: MendOptions): WalReader {
  return { ...wal, open: (lane, name) => openMended(wal, options, { lane, name }) };
}

interface Place {
  readonly lane: LaneId;
  readonly name: string;
}

async function openMended(
  wal: WalReader,
  options: MendOptions,
  place: Place,
): Promise<SegmentReader> {
  const { lane, name } = place;
  try {
    return new MendedSegment(await wal.open(lane, name), { ...options, isCopy: false });
  } catch (error) {
    if (!isOperatingError(error, "corrupt")) throw error;
    const copy = await copyOf(options, place);
    if (copy === undefined) throw error;
    return new MendedSegment(copy, { ...options, isCopy: true });
  }
}

/** Undefined where the mirror has none that can be opened. */
async function copyOf(
  { store, prefix }: MendOptions,
  { lane, name }: Place,
): Promise<SegmentReader | undefined> {
  if (!isMirrorable(lane)) return undefined;
  try {
    return await openMirrorWalReader(store, prefix).open(lane, name);
  } catch (error) {
    if (isOperatingError(error, "not_found") || isOperatingError(error, "corrupt")) {
      return undefined;
    }
    throw error;
  }
}

/** Damage of the copy is damage that is told of the original. */
const QUIETLY: FramesOptions = { onDamage: () => {} };

class MendedSegment implements SegmentReader {
  readonly lane: LaneId;
  readonly name: string;
  readonly schemaMessage: Uint8Array;
  readonly framesOffset: number;
  readonly #own: SegmentReader;
  /** `isCopy`: it is the mirror's, as a whole. */
  readonly #options: MendOptions & { readonly isCopy: boolean };
  #copy: Promise<SegmentReader | undefined> | undefined;

  constructor(own: SegmentReader, options: MendOptions & { readonly isCopy: boolean }) {
    this.lane = own.lane;
    this.name = own.name;
    this.schemaMessage = own.schemaMessage;
    this.framesOffset = own.framesOffset;
    this.#own = own;
    this.#options = options;
    if (options.isCopy) this.#copy = Promise.resolve(undefined);
  }

  async *frames(
    offset?: number,
    { onDamage, onMended }: FramesOptions = {},
  ): AsyncGenerator<WalFrame> {
    const damage: FrameDamage[] = [];
    const own = this.#own.frames(offset, { onDamage: (one) => damage.push(one) });
    let mended = 0;
    for await (const frame of own) {
      for await (const copied of this.#mend(damage.splice(0), onDamage)) {
        mended += 1;
        yield copied;
      }
      if (this.#options.isCopy) mended += 1;
      yield frame;
    }
    for await (const copied of this.#mend(damage.splice(0), onDamage)) {
      mended += 1;
      yield copied;
    }
    if (mended > 0) onMended?.(mended);
  }

  /** The copy's frames that lay where `damage` is; what is left of it goes to `onDamage`. */
  async *#mend(
    damage: readonly FrameDamage[],
    onDamage: FramesOptions["onDamage"],
  ): AsyncGenerator<WalFrame> {
    for (const { offset, endOffset, rows } of damage) {
      this.#copy ??= copyOf(this.#options, this);
      const copy = await this.#copy;
      let at = offset;
      // Another segment of that name would be none of ours.
      const frames = copy?.framesOffset === this.framesOffset ? copy.frames(at, QUIETLY) : [];
      for await (const frame of frames) {
        if (frame.endOffset > endOffset) break;
        if (frame.offset > at) this.#tell({ offset: at, endOffset: frame.offset }, onDamage);
        yield frame;
        at = frame.endOffset;
      }
      // Nobody knows how many rows a part of it had.
      const left = at === offset ? rows : undefined;
      if (at < endOffset) this.#tell({ offset: at, endOffset, rows: left }, onDamage);
    }
  }

  #tell(
    { offset, endOffset, rows }: Partial<FrameDamage> & Pick<FrameDamage, "offset" | "endOffset">,
    onDamage: FramesOptions["onDamage"],
  ): void {
    if (onDamage === undefined) throw damagedFrame(this.name, offset);
    onDamage({ offset, endOffset, rows });
  }

  async close(): Promise<void> {
    await this.#own.close();
    await (await this.#copy?.catch(() => undefined))?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
