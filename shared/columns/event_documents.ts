/**
 * JSON documents → a batch of the table `events`. The mapping is `shared/event/document.ts`.
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
import type { ColumnBatch } from "./batch.ts";
import { type ColumnBuilder, Int64ColumnBuilder, StringColumnBuilder } from "./column_builders.ts";

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
  #documents = 0;

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
    return { schema: EVENTS_SCHEMA, rows, columns };
  }

  /** Forgets what was added since the last batch. */
  clear(): void {
    for (const column of this.#columns()) column.clear();
    this.#documents = 0;
  }

  /** In the schema's order. */
  #columns(): readonly ColumnBuilder[] {
    return [
      this.#timestamp,
      this.#timestampNs,
      this.#host,
      this.#source,
      this.#sourcetype,
      this.#index,
      this.#raw,
      this.#attributes,
    ];
  }

  #append(options: DocumentOptions, document: () => JsonDocument): void {
    this.#documents += 1;
    const event = this.#eventOf(options, document);
    this.#timestamp.bigint(event.timestampNs / NS_PER_US);
    this.#timestampNs.bigint(event.timestampNs);
    this.#host.text(event.host);
    this.#source.text(event.source);
    this.#sourcetype.text(event.sourcetype);
    this.#index.text(event.index);
    this.#raw.text(event.raw);
    if (event.attributes === null) this.#attributes.null();
    else this.#attributes.text(event.attributes);
  }

  #eventOf(options: DocumentOptions, document: () => JsonDocument): EventFields {
    try {
      return eventOfDocument(document(), options);
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      const line = options.line ?? this.#documents;
      throw new OperatingError(error.code, `Line ${line}: ${error.message}`, { cause: error });
    }
  }
}
