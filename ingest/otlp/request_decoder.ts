/**
 * What logs and traces have in common: a request is resources of scopes of records, under the same field numbers.
 * Walks it, gives each scope's context and each record to a `RecordReader`, and takes the rows.
 *
 * Unknown fields are skipped. Any refusal is for the whole request. Kept between requests: a decoder runs to its
 * end without waiting, so there is one user at a time.
 */

import { isUtf8 } from "node:buffer";
import { assert } from "../../shared/base/assert.ts";
import { textOf, utf8 } from "../../shared/base/bytes.ts";
import { messageOf, OperatingError } from "../../shared/base/errors.ts";
import { TIMESTAMP_NS_MAX } from "../../shared/base/time.ts";
import type { ColumnBatch } from "../../shared/columns/batch.ts";
import type { Attribute, ScopeFields } from "./scope_context.ts";
import { IRREGULAR, type ValueReader } from "./value_reader.ts";
import type { WireReader } from "./wire_reader.ts";

export interface DecodeOptions {
  /** The time of a record that has none: Unix nanoseconds. */
  readonly nowNs: bigint;
}

/** Turns records into rows. `Context` is what all records of one scope share. */
export interface RecordReader<Context> {
  /** Starts a request; `nowNs` is the time of records that have none. */
  start(nowNs: bigint): void;
  context(fields: ScopeFields): Context;
  /** Reads the record from the cursor to `end`. */
  decode(end: number, context: Context): void;
}

export interface RequestDecoderParts<Context> {
  readonly reader: WireReader;
  readonly values: ValueReader;
  readonly records: RecordReader<Context>;
  /** Where the records' rows go. */
  readonly columns: { finish(): ColumnBatch; clear(): void };
  /** The same request with every singular field once; throws what protobufjs throws. */
  readonly regular: (body: Uint8Array) => Uint8Array;
}

/** Tags: field number × 8 + wire type. */
const REQUEST = { resources: 0x0a } as const;
const OF_RESOURCE = { resource: 0x0a, scopes: 0x12 } as const;
const RESOURCE = { attributes: 0x0a } as const;
const OF_SCOPE = { scope: 0x0a, records: 0x12 } as const;
const SCOPE = { name: 0x0a, version: 0x12, attributes: 0x1a } as const;

export class RequestDecoder<Context> {
  readonly #reader: WireReader;
  readonly #values: ValueReader;
  readonly #records: RecordReader<Context>;
  readonly #columns: RequestDecoderParts<Context>["columns"];
  readonly #regular: (body: Uint8Array) => Uint8Array;

  constructor({ reader, values, records, columns, regular }: RequestDecoderParts<Context>) {
    this.#reader = reader;
    this.#values = values;
    this.#records = records;
    this.#columns = columns;
    this.#regular = regular;
  }

  /**
   * The rows of a request, in its order. Throws `invalid_argument` when it is not protobuf of that message or holds
   * what cannot be stored; `too_large` when a column outgrows its limit.
   */
  decode(body: Uint8Array, options: DecodeOptions): ColumnBatch {
    try {
      return this.#decode(body, options);
    } catch (error) {
      if (error !== IRREGULAR) throw error;
    }
    return this.#decode(this.#regularized(body), options);
  }

  #decode(body: Uint8Array, { nowNs }: DecodeOptions): ColumnBatch {
    assert(nowNs >= 0n && nowNs <= TIMESTAMP_NS_MAX, "the clock shows a time before 2262");
    this.#reader.open(body);
    try {
      this.#records.start(nowNs);
      this.#request(body.length);
      return this.#columns.finish();
    } finally {
      this.#reader.close();
      this.#columns.clear();
    }
  }

  #regularized(body: Uint8Array): Uint8Array {
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
    const resourceEnd = this.#enterOnly(OF_RESOURCE.resource, end);
    const resource: Attribute[] = [];
    while (reader.pos < resourceEnd) {
      const tag = reader.tag(resourceEnd);
      if (tag === RESOURCE.attributes) {
        resource.push(this.#values.attribute(reader.span(resourceEnd)));
      } else reader.skip(tag, resourceEnd);
    }
    reader.pos = start;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === OF_RESOURCE.scopes) this.#ofScope(reader.span(end), resource);
      else reader.skip(tag, end);
    }
  }

  #ofScope(end: number, resource: readonly Attribute[]): void {
    const reader = this.#reader;
    const start = reader.pos;
    const context = this.#context(this.#enterOnly(OF_SCOPE.scope, end), resource);
    reader.pos = start;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === OF_SCOPE.records) this.#records.decode(reader.span(end), context);
      else reader.skip(tag, end);
    }
  }

  /** Moves into the only field with `wanted`: its end. An absent one is empty. */
  #enterOnly(wanted: number, end: number): number {
    const reader = this.#reader;
    let foundStart = -1;
    let foundEnd = -1;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag !== wanted) {
        reader.skip(tag, end);
        continue;
      }
      if (foundStart >= 0) throw IRREGULAR;
      foundEnd = reader.span(end);
      foundStart = reader.pos;
      reader.pos = foundEnd;
    }
    if (foundStart < 0) return end;
    reader.pos = foundStart;
    return foundEnd;
  }

  #context(end: number, resource: readonly Attribute[]): Context {
    const reader = this.#reader;
    const scope: Attribute[] = [];
    let scopeName: Attribute | undefined;
    let scopeVersion: Attribute | undefined;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === SCOPE.attributes) scope.push(this.#values.attribute(reader.span(end)));
      else if (tag === SCOPE.name) {
        if (scopeName !== undefined) throw IRREGULAR;
        scopeName = this.#named("name", reader.span(end));
      } else if (tag === SCOPE.version) {
        if (scopeVersion !== undefined) throw IRREGULAR;
        scopeVersion = this.#named("version", reader.span(end));
      } else reader.skip(tag, end);
    }
    return this.#records.context({
      resource,
      scopeName: scopeName?.text === null ? undefined : scopeName,
      scopeVersion: scopeVersion?.text === null ? undefined : scopeVersion,
      scope,
    });
  }

  /** The string field from the cursor to `end`, as if it were an attribute. */
  #named(name: string, end: number): Attribute {
    const reader = this.#reader;
    const text = reader.bytes.slice(reader.pos, end);
    if (!isUtf8(text)) throw reader.refusal(`the scope's ${name} is not UTF-8`);
    reader.pos = end;
    return {
      name,
      json: utf8(JSON.stringify(textOf(text))),
      text: text.length === 0 ? null : text,
    };
  }
}
