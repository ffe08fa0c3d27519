/**
 * JSON documents → a batch of the table `events`, or of one that has more columns. The mapping is
 * `shared/document/document.ts`; a further column takes the member of its name
 * (`shared/document/mapped_values.ts`).
 *
 * Invariant: a document that is refused as invalid leaves no trace; the builder can go on with the
 * next one.
 */

import { present } from "../base/assert.ts";
import { isOperatingError, OperatingError } from "../base/errors.ts";
import {
  type DocumentDefaults,
  type EventFields,
  eventOfDocument,
  type JsonDocument,
  parseDocument,
} from "../document/document.ts";
import { NS_PER_US } from "../base/time.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { ownColumns, ValueMapper } from "../document/mapped_values.ts";
import type { Column, TableSchema } from "../schema/schema.ts";
import { EVENTS_SHAPE, type TableShape } from "../schema/table_shape.ts";
import type { TypedValue } from "../document/typed_value.ts";
import { type ColumnBatch, freeColumns } from "./batch.ts";
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
  /** undefined: nothing is asked of a document, and nothing taken out of it. */
  readonly #mapper: ValueMapper | undefined;
  /** Must be there, of a table that somebody configured. */
  readonly #timeMember: string | undefined;
  #documents = 0;

  /** Errors: `invalid_argument` when the shape lacks columns of `events`. */
  constructor(shape: TableShape = EVENTS_SHAPE) {
    const { schema, mapping } = shape;
    const columns = ownColumns(shape);
    // Nothing else reads them while they are written.
    this.#raw.values.freesOutgrown = this.#attributes.values.freesOutgrown = true;
    this.#schema = schema;
    this.#further = columns.map((column) => ({ column, builder: columnBuilderOf(column.type) }));
    this.#timeMember = mapping?.timestamp_field;
    if (columns.length > 0 || mapping !== undefined) {
      this.#mapper = new ValueMapper(columns, mapping);
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

  /**
   * Appends a document. Throws `invalid_argument` naming its line and the value that cannot be
   * stored.
   */
  add(document: JsonDocument, options: DocumentOptions): void {
    this.#append(options, () => document);
  }

  /**
   * Appends the document of one NDJSON line; throws as `add` does, also for text that is no JSON
   * object.
   */
  addLine(text: string, options: DocumentOptions): void {
    this.#append(options, () => parseDocument(text));
  }

  /** The batch of what was added; the builder is empty afterwards. */
  finish(): ColumnBatch {
    const { rows } = this;
    const columns = this.#columns().map((builder) => builder.finish());
    return { schema: this.#schema, rows, columns, release: () => freeColumns(columns) };
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
      if (this.#mapper === undefined) {
        return { event: eventOfDocument(parsed, options), values: NO_VALUES };
      }
      return this.#mapped(this.#mapper, parsed, options);
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      const line = options.line ?? this.#documents;
      throw new OperatingError(error.code, `Line ${line}: ${error.message}`, { cause: error });
    }
  }

  #mapped(mapper: ValueMapper, parsed: JsonDocument, options: DocumentOptions): DocumentValues {
    const { values, taken } = mapper.read(parsed);
    const event = eventOfDocument(parsed, {
      ...options,
      columnMembers: taken,
      required: mapper.required,
      ...(this.#timeMember === undefined ? {} : { timeMember: this.#timeMember }),
    });
    mapper.checkAttributes(event.attributes);
    return { event, values };
  }
}

interface FurtherColumn {
  readonly column: Column;
  readonly builder: ReturnType<typeof columnBuilderOf>;
}

interface DocumentValues {
  readonly event: EventFields;
  /** Values of the further columns, in their order. Undefined is null. */
  readonly values: readonly (TypedValue | undefined)[];
}

const NO_VALUES: readonly undefined[] = [];

function append(builder: FurtherColumn["builder"], value: TypedValue | undefined): void {
  if (value === undefined) builder.null();
  else if (builder instanceof StringColumnBuilder) builder.text(String(value));
  else if (builder instanceof Int64ColumnBuilder) builder.bigint(BigInt(value));
  else builder.number(Number(value));
}
