/**
 * One column of rows that are written as JSON: what stands before each value, and the value, which
 * lies in a page. Values of a dictionary are written once, and copied for each row.
 */

import { viewOf } from "../../base/bytes.ts";
import { int64At } from "../../columns/timestamps.ts";
import type { PageRows, PageTexts } from "../../parquet/reader/column_pages.ts";
import { ESCAPED_BYTES_MAX, EscapedTexts } from "./escaped_texts.ts";
import { FixedBytes, JsonBytes } from "./json_bytes.ts";

/** A column of an answer. */
export interface JsonForm {
  /** What stands before each of its values. */
  readonly before: string;
  /** Whether its integers are microseconds since 1970. */
  readonly isInstant: boolean;
  /** Whether rows are wanted from behind. */
  readonly isBackwards: boolean;
}

/** Values of a dictionary as JSON, with what stands before them. */
interface Written {
  readonly kind: "written";
  readonly view: DataView;
  /** Where each ends. */
  readonly ends: Int32Array;
}

/** What is at hand of the column. */
type Values =
  | { readonly kind: "none" }
  | PageTexts
  | Written
  | { readonly kind: "integers"; readonly halves: Int32Array };

/** Bytes of a number, or an instant in quotes, at most. */
const NUMBER_BYTES_MAX = 32;
/** Calls that copy take longer than a loop for fewer bytes. */
const LONG_BYTES = 512;
const NONE: Values = { kind: "none" };

export class JsonColumn {
  /** Rows of the row group whose values are at hand. */
  first = 0;
  end = 0;
  readonly #before: FixedBytes;
  readonly #quoted: FixedBytes;
  readonly #null: FixedBytes;
  readonly #form: JsonForm;
  readonly #instant = new InstantText();
  #values: Values = NONE;
  #places: Int32Array | undefined;
  readonly #escaped = new EscapedTexts();
  #written: { readonly of: PageTexts; readonly values: Written } | undefined;

  constructor(form: JsonForm) {
    const { before } = this.#form = form;
    this.#before = new FixedBytes(before);
    this.#quoted = new FixedBytes(`${before}"`);
    this.#null = new FixedBytes(`${before}null`);
  }

  /** Goes on to the rows of a page. */
  turn({ first, end, values, places, isDictionary }: PageRows): void {
    [this.first, this.end, this.#places] = [first, end, places];
    if (values.kind === "integers") this.#values = values;
    else if (isDictionary) this.#values = this.#writtenOnce(values);
    else this.#values = values;
    this.#escaped.first = this.#escaped.end = 0;
  }

  /** Goes on to rows without a value. */
  turnToNulls(first: number, end: number): void {
    [this.first, this.end, this.#values] = [first, end, NONE];
  }

  /** The microseconds of an instant; null counts as none. */
  microsAt(row: number): number {
    const place = this.#placeOf(row);
    if (this.#values.kind !== "integers" || place < 0) throw new Error("a row without an instant");
    return int64At(this.#values.halves, place);
  }

  /** How many bytes a row takes at most. */
  bytesMax(row: number): number {
    const values = this.#values;
    const place = this.#placeOf(row);
    if (values.kind === "none" || values.kind === "integers" || place < 0) {
      return this.#null.length + NUMBER_BYTES_MAX;
    }
    if (values.kind === "written") return lengthAt(values.ends, place);
    this.#escape(values, place);
    return this.#quoted.length + lengthAt(this.#escaped.ends, place - this.#escaped.first) + 1;
  }

  write(row: number, to: JsonBytes): void {
    const values = this.#values;
    const place = this.#placeOf(row);
    if (values.kind === "none" || place < 0) to.piece(this.#null);
    else if (values.kind === "written") {
      to.copy(values.view, startAt(values.ends, place), values.ends[place] as number);
    } else if (values.kind === "texts") {
      this.#escape(values, place);
      const { bytes, view, ends, first } = this.#escaped;
      const [start, end] = [startAt(ends, place - first), ends[place - first] as number];
      to.piece(this.#quoted);
      if (end - start < LONG_BYTES) to.copy(view, start, end);
      else to.set(bytes.subarray(start, end));
      to.quote();
    } else {
      const { halves } = values;
      to.piece(this.#before);
      if (this.#form.isInstant) this.#instant.write(int64At(halves, place), to);
      else to.integer(halves[2 * place] as number, halves[2 * place + 1] as number);
    }
  }

  #placeOf(row: number): number {
    const places = this.#places;
    return places === undefined ? row - this.first : places[row - this.first] as number;
  }

  #escape(texts: PageTexts, place: number): void {
    const { first, end } = this.#escaped;
    if (place >= first && place < end) return;
    this.#escaped.around(place, { ...texts, isBefore: this.#form.isBackwards });
  }

  #writtenOnce(known: PageTexts): Written {
    if (this.#written?.of === known) return this.#written.values;
    const { count, bytes, starts } = known;
    const ends = new Int32Array(count);
    const around = this.#quoted.length + 1;
    const room = known.ends.reduce(
      (sum, end, at) => sum + around + ESCAPED_BYTES_MAX * (end - (starts[at] as number)),
      0,
    );
    const to = new JsonBytes(room);
    const escaped = this.#escaped;
    for (let place = 0; place < count; place += 1) {
      escaped.one(bytes.subarray(starts[place], known.ends[place]));
      to.piece(this.#quoted);
      to.set(escaped.bytes.subarray(0, escaped.ends[0]));
      to.quote();
      ends[place] = to.at;
    }
    const values = { kind: "written", view: viewOf(to.bytes), ends } as const;
    this.#written = { of: known, values };
    return values;
  }
}

function startAt(ends: Int32Array, place: number): number {
  return place === 0 ? 0 : ends[place - 1] as number;
}

function lengthAt(ends: Int32Array, place: number): number {
  return (ends[place] as number) - startAt(ends, place);
}

/** Instants as `"2026-11-20T21:04:05.123456Z"`. The text of a second is made once. */
class InstantText {
  #second = NaN;
  #before = new FixedBytes("");
  readonly #after = new FixedBytes('Z"');

  write(micros: number, to: JsonBytes): void {
    const second = Math.floor(micros / 1_000_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#before = new FixedBytes(`"${new Date(second * 1_000).toISOString().slice(0, 20)}`);
    }
    to.piece(this.#before);
    to.digits(micros - second * 1_000_000, 6);
    to.piece(this.#after);
  }
}
