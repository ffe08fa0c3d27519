/**
 * JSON documents → a batch of the table `events`, or of one that has more columns. The mapping is
 * `shared/event/document.ts`; a further column takes the member of its name, which must fit its type.
 *
 * Invariant: a document that is refused as invalid leaves no trace; the builder can go on with the next one.
 */

import { isOperatingError, OperatingError } from "../base/errors.ts";
import {
  type DocumentDefaults,
  type EventFields,
  eventOfDocument,
  type JsonDocument,
  parseDocument,
} from "../event/document.ts";
import { NS_PER_US } from "../base/time.ts";
import { EVENTS_SCHEMA } from "../event/events.ts";
import type { Column, TableSchema } from "../event/schema.ts";
import { type TypedValue, typedValue } from "../event/typed_value.ts";
import { present } from "../base/assert.ts";
import type { ColumnBatch } from "./batch.ts";
import {
  type ColumnBuilder,
  columnBuilderOf,
  Int64ColumnBuilder,
  StringColumnBuilder,
} from "./column_builders.ts";

export interface DocumentOptions extends DocumentDefaults {
  /** Line of the input, from 1, for error messages; without it, documents are counted. */
  readonly line?: number;
}

export class EventDocumentBuilder {
  readonly #timestamp = new Int64ColumnBuilder();
  readonly #timestampNs = new Int64ColumnBuilder();
  readonly #host = new StringColumnBuilder();
  readonly #source = new StringColumnBuilder();
  readonly #sourcetype = new StringColumnBuilder();
  readonly #index = new StringColumnBuilder();
  readonly #raw = new StringColumnBuilder();
  readonly #attributes = new StringColumnBuilder();
  readonly #schema: TableSchema;
  /** Columns that `events` does not have. */
  readonly #further: readonly FurtherColumn[];
  readonly #furtherNames: ReadonlySet<string> | undefined;
  #documents = 0;

  /** Errors: `invalid_argument` when `schema` lacks columns of `events`. */
  constructor(schema: TableSchema = EVENTS_SCHEMA) {
    this.#schema = schema;
    this.#further = furtherColumns(schema).map((column) => ({
      column,
      builder: columnBuilderOf(column.type),
    }));
    if (this.#further.length > 0) {
      this.#furtherNames = new Set(this.#further.map(({ column }) => column.name));
    }
  }

  /** Documents since the last batch. */
  get rows(): number {
    return this.#timestamp.rows;
  }

  /** Bytes of text since the last batch: for callers that cap a batch. */
  get byteLength(): number {
    return this.#raw.values.length + this.#attributes.values.length;
  }

  /** Appends a document. Throws `invalid_argument` naming its line and the value that cannot be stored. */
  add(document: JsonDocument, options: DocumentOptions): void {
    this.#append(options, () => document);
  }

  /** Appends the document of one NDJSON line; throws as `add` does, also for text that is no JSON object. */
  addLine(text: string, options: DocumentOptions): void {
    this.#append(options, () => parseDocument(text));
  }

  /** The batch of what was added; the builder is empty afterwards. */
  finish(): ColumnBatch {
    const { rows } = this;
    const columns = this.#columns().map((builder) => builder.finish());
    return { schema: this.#schema, rows, columns };
  }

  /** Forgets what was added since the last batch. */
  clear(): void {
    for (const column of this.#columns()) column.clear();
    this.#documents = 0;
  }

  /** In the schema's order. */
  #columns(): readonly ColumnBuilder[] {
    const core = [
      this.#timestamp,
      this.#timestampNs,
      this.#host,
      this.#source,
      this.#sourcetype,
      this.#index,
      this.#raw,
      this.#attributes,
    ];
    if (this.#further.length === 0) return core;
    const byId = new Map<number, ColumnBuilder>(
      this.#further.map(({ column, builder }) => [column.id, builder]),
    );
    EVENTS_SCHEMA.columns.forEach(({ id }, at) => byId.set(id, present(core[at])));
    return this.#schema.columns.map(({ id }) => present(byId.get(id)));
  }

  #append(options: DocumentOptions, document: () => JsonDocument): void {
    this.#documents += 1;
    const { event, values } = this.#eventOf(options, document);
    this.#timestamp.bigint(event.timestampNs / NS_PER_US);
    this.#timestampNs.bigint(event.timestampNs);
    this.#host.text(event.host);
    this.#source.text(event.source);
    this.#sourcetype.text(event.sourcetype);
    this.#index.text(event.index);
    this.#raw.text(event.raw);
    if (event.attributes === null) this.#attributes.null();
    else this.#attributes.text(event.attributes);
    for (const [at, { builder }] of this.#further.entries()) append(builder, values[at]);
  }

  #eventOf(options: DocumentOptions, document: () => JsonDocument): DocumentValues {
    try {
      const parsed = document();
      if (this.#furtherNames === undefined) {
        return { event: eventOfDocument(parsed, options), values: NO_VALUES };
      }
      const values = this.#further.map(({ column }) => columnValue(parsed, column));
      const event = eventOfDocument(parsed, { ...options, columnMembers: this.#furtherNames });
      return { event, values };
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      const line = options.line ?? this.#documents;
      throw new OperatingError(error.code, `Line ${line}: ${error.message}`, { cause: error });
    }
  }
}

interface FurtherColumn {
  readonly column: Column;
  readonly builder: ReturnType<typeof columnBuilderOf>;
}

interface DocumentValues {
  readonly event: EventFields;
  /** Of the further columns, in their order; undefined is null. */
  readonly values: readonly (TypedValue | undefined)[];
}

const NO_VALUES: readonly undefined[] = [];

function furtherColumns(schema: TableSchema): Column[] {
  for (const { id, name, type } of EVENTS_SCHEMA.columns) {
    const found = schema.columns.find((column) => column.id === id);
    if (found?.name === name && found.type === type) continue;
    throw new OperatingError(
      "invalid_argument",
      `Cannot store documents in a table without column ${name} of type ${type}: ` +
        "it has not the columns of events",
      { reason: "table_shape" },
    );
  }
  return schema.columns.filter(({ id }) => EVENTS_SCHEMA.columns.every((core) => core.id !== id));
}

function columnValue(document: JsonDocument, column: Column): TypedValue | undefined {
  const { name, type, required } = column;
  const value = document[name] ?? undefined;
  if (value === undefined) {
    if (!required) return undefined;
    throw misfit(`it lacks ${name}, which is required`);
  }
  const typed = typedValue(value, type);
  if (typed !== undefined) return typed;
  const text = JSON.stringify(value);
  throw misfit(`${name} is ${text.length > 100 ? `${text.slice(0, 100)}…` : text}, not ${type}`);
}

function misfit(why: string): OperatingError {
  return new OperatingError("invalid_argument", `Cannot store the document: ${why}`);
}

function append(builder: FurtherColumn["builder"], value: TypedValue | undefined): void {
  if (value === undefined) builder.null();
  else if (builder instanceof StringColumnBuilder) builder.text(String(value));
  else if (builder instanceof Int64ColumnBuilder) builder.bigint(BigInt(value));
  else builder.number(Number(value));
}
