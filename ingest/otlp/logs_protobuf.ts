/**
 * OTLP `ExportLogsServiceRequest` in protobuf → columns of the table `events`, with no object per record.
 *
 * The mapping is SPEC.md 2.1 and SHAPES.md "OTLP log record → attributes". Decided here beyond them: a
 * host.name, service.name, sourcetype or index that is no string fills its column with its JSON text; one that
 * is empty or has no value fills nothing and stays among the attributes; where names meet, the later member of
 * the order stands. Unknown fields are skipped. Any refusal is for the whole request.
 */

import { isUtf8 } from "node:buffer";
import { regularLogsRequest } from "../../proto/otlp_logs.ts";
import { assert } from "../../shared/base/assert.ts";
import { textOf, utf8 } from "../../shared/base/bytes.ts";
import { messageOf, OperatingError } from "../../shared/base/errors.ts";
import { TIMESTAMP_NS_MAX } from "../../shared/base/time.ts";
import type { ColumnBatch } from "../../shared/columns/batch.ts";
import { LogColumns } from "./log_columns.ts";
import { RecordDecoder } from "./record_decoder.ts";
import { type Attribute, ScopeContext } from "./scope_context.ts";
import { IRREGULAR, ValueReader } from "./value_reader.ts";
import { WireReader } from "./wire_reader.ts";

export interface LogsDecodeOptions {
  /** The time of a record that has none: Unix nanoseconds. */
  readonly nowNs: bigint;
}

/**
 * The rows of a request, in its order. Throws `invalid_argument` when it is not protobuf of that message, when a
 * string is not UTF-8, a time is past 2262 or a value nests too deep; `too_large` when a column outgrows its limit.
 */
export function decodeLogsProtobuf(body: Uint8Array, options: LogsDecodeOptions): ColumnBatch {
  try {
    return decoder.decode(body, options);
  } catch (error) {
    if (error !== IRREGULAR) throw error;
  }
  return decoder.decode(regular(body), options);
}

function regular(body: Uint8Array): Uint8Array {
  try {
    return regularLogsRequest(body);
  } catch (cause) {
    const message = `Cannot decode the OTLP request of ${body.length} bytes: ${messageOf(cause)}`;
    throw new OperatingError("invalid_argument", message, { cause });
  }
}

/** Tags: field number × 8 + wire type. */
const REQUEST = { resourceLogs: 0x0a } as const;
const RESOURCE_LOGS = { resource: 0x0a, scopeLogs: 0x12 } as const;
const RESOURCE = { attributes: 0x0a } as const;
const SCOPE_LOGS = { scope: 0x0a, logRecords: 0x12 } as const;
const SCOPE = { name: 0x0a, version: 0x12, attributes: 0x1a } as const;

class LogsDecoder {
  readonly #reader = new WireReader();
  readonly #values = new ValueReader(this.#reader);
  readonly #columns = new LogColumns();
  readonly #record = new RecordDecoder({
    reader: this.#reader,
    values: this.#values,
    columns: this.#columns,
  });

  decode(body: Uint8Array, { nowNs }: LogsDecodeOptions): ColumnBatch {
    assert(nowNs >= 0n && nowNs <= TIMESTAMP_NS_MAX, "the clock shows a time before 2262");
    this.#reader.open(body);
    try {
      this.#record.start(nowNs);
      this.#request(body.length);
      return this.#columns.finish();
    } finally {
      this.#reader.close();
      this.#columns.clear();
    }
  }

  #request(end: number): void {
    const reader = this.#reader;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === REQUEST.resourceLogs) this.#resourceLogs(reader.span(end));
      else reader.skip(tag, end);
    }
  }

  /** Fields may come in any order: the resource is looked for before any record is read. */
  #resourceLogs(end: number): void {
    const reader = this.#reader;
    const start = reader.pos;
    const resourceEnd = this.#enterOnly(RESOURCE_LOGS.resource, end);
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
      if (tag === RESOURCE_LOGS.scopeLogs) this.#scopeLogs(reader.span(end), resource);
      else reader.skip(tag, end);
    }
  }

  #scopeLogs(end: number, resource: readonly Attribute[]): void {
    const reader = this.#reader;
    const start = reader.pos;
    const context = this.#scope(this.#enterOnly(SCOPE_LOGS.scope, end), resource);
    reader.pos = start;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === SCOPE_LOGS.logRecords) this.#record.decode(reader.span(end), context);
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

  #scope(end: number, resource: readonly Attribute[]): ScopeContext {
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
    return new ScopeContext({
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

const decoder = new LogsDecoder();
