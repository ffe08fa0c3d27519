/**
 * Where documents become rows: a builder per index of a request, kept for the next request.
 *
 * Between `take` and `giveBack` a builder is in one request's hands.
 */

import type { ColumnBatch } from "../../shared/columns/batch.ts";
import {
  type DocumentOptions,
  EventDocumentBuilder,
} from "../../shared/columns/event_documents.ts";
import type { TableShape } from "../../shared/schema/table_shape.ts";
import type { LaneId } from "../../shared/tenant/tenant.ts";

export interface DocumentBuilder {
  /**
   * Appends the document of one line. Errors: `invalid_argument` saying why it cannot be stored.
   */
  addLine(text: string, options: DocumentOptions): void;
  /** The batch of what was added; the builder is empty afterwards. */
  finish(): ColumnBatch;
  clear(): void;
}

export interface DocumentBuilders {
  /**
   * An empty builder for documents of `lane`. Errors: `invalid_argument` when its table takes none.
   */
  take(lane: LaneId): DocumentBuilder;
  /** Takes an empty builder back. */
  giveBack(builder: DocumentBuilder): void;
}

/** Builders kept between requests. */
const KEPT_MAX = 8;

/** Builders for tables that have the columns of `events` and maybe more. */
export class EventDocumentBuilders implements DocumentBuilders {
  readonly #shapeOf: (lane: LaneId) => TableShape;
  readonly #kept: { readonly shape: TableShape; readonly builder: DocumentBuilder }[] = [];
  readonly #shapes = new WeakMap<DocumentBuilder, TableShape>();

  constructor(shapeOf: (lane: LaneId) => TableShape) {
    this.#shapeOf = shapeOf;
  }

  take(lane: LaneId): DocumentBuilder {
    const shape = this.#shapeOf(lane);
    const at = this.#kept.findLastIndex((kept) => kept.shape === shape);
    const kept = at < 0 ? undefined : this.#kept.splice(at, 1)[0]?.builder;
    if (kept !== undefined) return kept;
    const builder = new EventDocumentBuilder(shape);
    this.#shapes.set(builder, shape);
    return builder;
  }

  giveBack(builder: DocumentBuilder): void {
    const shape = this.#shapes.get(builder);
    if (shape === undefined) return;
    if (this.#kept.length >= KEPT_MAX) this.#kept.shift();
    this.#kept.push({ shape, builder });
  }
}
