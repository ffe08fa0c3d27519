/**
 * What logs and traces have in common: a request is resources of scopes of records, under the same
 * field numbers. Walks it, gives each scope's context and each record to a `RecordReader`, and
 * takes the rows.
 *
 * Unknown fields are skipped. Any refusal is for the whole request. Kept between requests: a
 * decoder runs to its end without waiting, so there is one user at a time.
 */

import { assert } from "../../shared/base/assert.ts";
import { messageOf, OperatingError } from "../../shared/base/errors.ts";
import { TIMESTAMP_NS_MAX } from "../../shared/base/time.ts";
import type { ColumnBatch } from "../../shared/columns/batch.ts";
import { COLUMN_BYTES_MAX } from "../../shared/columns/byte_builder.ts";
import { type ByteSpan, ContextMembers } from "./attributes/context_members.ts";
import {
  IRREGULAR_BYTES_MAX,
  REQUEST_ATTRIBUTES_MAX,
  REQUEST_RECORDS_MAX,
  SHORT,
  tooIrregular,
  tooMany,
} from "./request_limits.ts";
import { KnownContexts } from "./known_contexts.ts";
import { IRREGULAR, type ValueReader } from "./wire/value_reader.ts";
import type { WireReader } from "./wire/wire_reader.ts";

export interface DecodeOptions {
  /** The time of a record that has none: Unix nanoseconds. */
  readonly nowNs: bigint;
  /** Whether to throw `too_large` past the limits `SHORT`, too. */
  readonly isShort?: boolean;
}

/** Turns records into rows. `Context` is what all records of one scope share. */
export interface RecordReader<Context> {
  /** Starts a request; `nowNs` is the time of records that have none. */
  start(nowNs: bigint): void;
  context(members: ContextMembers): Context;
  /** Reads the record from the cursor to `end`. */
  decode(end: number, context: Context): void;
}

export interface RequestDecoderParts<Context> {
  readonly reader: WireReader;
  readonly values: ValueReader;
  readonly records: RecordReader<Context>;
  /** Where the records' rows go. */
  readonly columns: { bound(bytesMax: number): void; finish(): ColumnBatch; clear(): void };
  /** Gives the request with every singular field once. Throws what protobufjs throws. */
  readonly regular: (body: Uint8Array) => Uint8Array;
}

/** Tags: field number × 8 + wire type. */
const REQUEST = { resources: 0x0a } as const;
const OF_RESOURCE = { resource: 0x0a, scopes: 0x12 } as const;
const OF_SCOPE = { scope: 0x0a, records: 0x12 } as const;
/** Wire bytes that a context may have to be kept between requests. */
const CONTEXT_BYTES_MAX = 4096;

const NOWHERE: ByteSpan = { start: 0, end: 0 };

export class RequestDecoder<Context> {
  readonly #reader: WireReader;
  readonly #values: ValueReader;
  readonly #records: RecordReader<Context>;
  readonly #members: ContextMembers;
  readonly #columns: RequestDecoderParts<Context>["columns"];
  readonly #regular: (body: Uint8Array) => Uint8Array;
  readonly #contexts = new KnownContexts<Context>();
  /** Records of the request so far. */
  #taken = 0;
  /** How many may be made for the request. */
  #contextsLeft = Infinity;
  /** The context of records of which nothing is known. */
  #bare: Context | undefined;

  constructor({ reader, values, records, columns, regular }: RequestDecoderParts<Context>) {
    this.#reader = reader;
    this.#values = values;
    this.#records = records;
    this.#members = new ContextMembers(reader, values);
    this.#columns = columns;
    this.#regular = regular;
  }

  /**
   * The rows of a request, in its order. Throws `invalid_argument` when it is not protobuf of that
   * message or holds what cannot be stored; `too_large` when a column outgrows its limit, or the
   * request those of `request_limits.ts`.
   */
  decode(body: Uint8Array, options: DecodeOptions): ColumnBatch {
    try {
      return this.#decode(body, options);
    } catch (error) {
      if (error !== IRREGULAR) throw error;
    }
    return this.#decode(this.#regularized(body), options);
  }

  #decode(
    body: Uint8Array,
    { nowNs, isShort = false }: DecodeOptions,
  ): ColumnBatch {
    assert(nowNs >= 0n && nowNs <= TIMESTAMP_NS_MAX, "the clock shows a time before 2262");
    this.#reader.open(body);
    this.#taken = 0;
    this.#contextsLeft = isShort ? SHORT.contextsMax : Infinity;
    this.#columns.bound(isShort ? SHORT.columnBytesMax : COLUMN_BYTES_MAX);
    try {
      this.#values.start(isShort ? SHORT.attributesMax : REQUEST_ATTRIBUTES_MAX);
      this.#records.start(nowNs);
      this.#request(body.length);
      this.#values.finish();
      return this.#columns.finish();
    } finally {
      this.#reader.close();
      this.#columns.clear();
    }
  }

  #regularized(body: Uint8Array): Uint8Array {
    if (body.length > IRREGULAR_BYTES_MAX) throw tooIrregular(body.length);
    try {
      return this.#regular(body);
    } catch (cause) {
      const message = `Cannot decode the OTLP request of ${body.length} bytes: ${messageOf(cause)}`;
      throw new OperatingError("invalid_argument", message, { cause });
    }
  }

  #request(end: number): void {
    const reader = this.#reader;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === REQUEST.resources) this.#ofResource(reader.span(end));
      else reader.skip(tag, end);
    }
  }

  /** Fields may come in any order: the resource is looked for before any record is read. */
  #ofResource(end: number): void {
    const reader = this.#reader;
    const start = reader.pos;
    const resource = this.#only(OF_RESOURCE.resource, end);
    reader.pos = start;
    let scopes = 0;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === OF_RESOURCE.scopes) {
        this.#ofScope(reader.span(end), resource);
        scopes += 1;
      } else reader.skip(tag, end);
    }
    // What no record needs must be well-formed all the same.
    if (scopes === 0 && resource.end > resource.start) this.#members.read(resource, NOWHERE);
    reader.pos = end;
  }

  #ofScope(end: number, resource: ByteSpan): void {
    const reader = this.#reader;
    const start = reader.pos;
    const context = this.#contextOf(resource, this.#only(OF_SCOPE.scope, end));
    reader.pos = start;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === OF_SCOPE.records) {
        this.#taken += 1;
        if (this.#taken > REQUEST_RECORDS_MAX) throw tooMany("records", REQUEST_RECORDS_MAX);
        this.#records.decode(reader.span(end), context);
      } else reader.skip(tag, end);
    }
  }

  /** The only field with `wanted` from the cursor to `end`. An absent one is empty. */
  #only(wanted: number, end: number): ByteSpan {
    const reader = this.#reader;
    let found: ByteSpan | undefined;
    for (let spanEnd; (spanEnd = reader.next(wanted, end)) >= 0;) {
      if (found !== undefined) throw IRREGULAR;
      found = { start: reader.pos, end: spanEnd };
      reader.pos = spanEnd;
    }
    return found ?? { start: end, end };
  }

  /**
   * Senders repeat their resource and scopes in every request: the bytes that are known are not
   * read again.
   */
  #contextOf(resource: ByteSpan, scope: ByteSpan): Context {
    const { view } = this.#reader;
    const length = resource.end - resource.start + scope.end - scope.start;
    if (length === 0) return this.#bare ??= this.#context(resource, scope);
    if (length > CONTEXT_BYTES_MAX) return this.#context(resource, scope);
    const known = this.#contexts.find(view, resource, scope);
    if (known !== undefined) return known;
    const context = this.#context(resource, scope);
    this.#contexts.add(view, { resource, scope, context });
    return context;
  }

  #context(resource: ByteSpan, scope: ByteSpan): Context {
    this.#contextsLeft -= 1;
    if (this.#contextsLeft < 0) throw tooMany("resources and scopes", SHORT.contextsMax);
    this.#members.read(resource, scope);
    return this.#records.context(this.#members);
  }
}
