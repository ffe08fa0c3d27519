/**
 * The severities of a request's records, told apart by their bytes while the rows are made. Senders
 * have a handful of them, so most records have that of a record before.
 */

import { textOf, viewOf } from "../../../shared/base/bytes.ts";
import type { ToldAttributes } from "../../../shared/columns/batch.ts";
import { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import { areSameBytesAt } from "../../../shared/columns/value_bytes.ts";
import { TOLD_ATTRIBUTES } from "../../../shared/wal/frame_summary.ts";

/** Different ones of a request; with more of them nothing is told. */
const SEVERITIES_MAX = 16;
const TEXT_BYTES_MAX = 32;
const NAMES = [...TOLD_ATTRIBUTES];

interface Severity {
  readonly text: DataView;
  readonly number: number;
  readonly values: readonly (string | number | null)[];
}

/** Kept between requests; one request at a time. */
export class Severities {
  /** In the order in which the request has them. */
  readonly #known: Severity[] = [];
  /** For each row. */
  readonly #ids = new ByteBuilder(1024);
  #last = 0;
  #isTold = true;

  /**
   * Tells the severity of the next record: the text from `start` to `end`, and the number. Without
   * a text the two are alike, without a number it is 0.
   */
  add(request: DataView, start: number, end: number, number: number): void {
    if (!this.#isTold) return;
    let id = this.#last;
    if (!this.#is(id, request, start, end, number)) {
      id = 0;
      while (id < this.#known.length && !this.#is(id, request, start, end, number)) id += 1;
      if (id === this.#known.length && !this.#learn(request, start, end, number)) {
        return this.giveUp();
      }
      this.#last = id;
    }
    this.#ids.byte(id);
  }

  /** Tells nothing of the request: what the attributes of one of its records say is not known. */
  giveUp(): void {
    this.#isTold = false;
  }

  /** What was told of the rows, if anything; begins anew. */
  take(): ToldAttributes | undefined {
    const values = this.#known.map((severity) => severity.values);
    const told = this.#isTold && values.length > 0
      ? { names: NAMES, ids: this.#ids.take(), values }
      : undefined;
    this.clear();
    return told;
  }

  /** Forgets what an earlier request may have left behind. */
  clear(): void {
    this.#known.length = 0;
    this.#ids.clear();
    this.#last = 0;
    this.#isTold = true;
  }

  #is(id: number, request: DataView, start: number, end: number, number: number): boolean {
    const known = this.#known[id];
    return known !== undefined && known.number === number &&
      known.text.byteLength === end - start &&
      areSameBytesAt(request, start, known.text, 0, end - start);
  }

  /** False: there are too many, or it is no short text of ASCII. */
  #learn(request: DataView, start: number, end: number, number: number): boolean {
    if (this.#known.length === SEVERITIES_MAX || end - start > TEXT_BYTES_MAX) return false;
    const bytes = new Uint8Array(request.buffer, request.byteOffset + start, end - start).slice();
    if (!bytes.every((byte) => byte >= 0x20 && byte < 0x7f)) return false;
    const text = bytes.byteLength === 0 ? null : textOf(bytes);
    const values = [text, number === 0 ? null : number];
    this.#known.push({ text: viewOf(bytes), number, values });
    return true;
  }
}
