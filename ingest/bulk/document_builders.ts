/**
 * Where documents become rows: a builder per index of a request, kept for the next request.
 *
 * Decoding a request does not wait for anything, so a builder is in one request's hands at a time.
 */

import type { ColumnBatch } from "../../shared/columns/batch.ts";
import {
  type DocumentOptions,
  EventDocumentBuilder,
} from "../../shared/columns/event_documents.ts";

export interface DocumentBuilder {
  /** Appends the document of one line. Errors: `invalid_argument` saying why it cannot be stored. */
  addLine(text: string, options: DocumentOptions): void;
  /** The batch of what was added; the builder is empty afterwards. */
  finish(): ColumnBatch;
  clear(): void;
}

export interface DocumentBuilders {
  /** A builder for documents of `index`, empty. */
  take(index: string): DocumentBuilder;
  giveBack(builder: DocumentBuilder): void;
}

/** Builders kept between requests. */
const KEPT_MAX = 8;

/** Every index has the columns of `events`. */
export class EventDocumentBuilders implements DocumentBuilders {
  readonly #kept: DocumentBuilder[] = [];

  take(_index: string): DocumentBuilder {
    return this.#kept.pop() ?? new EventDocumentBuilder();
  }

  giveBack(builder: DocumentBuilder): void {
    if (this.#kept.length < KEPT_MAX) this.#kept.push(builder);
  }
}
