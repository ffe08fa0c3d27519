/** What is wrong with a search, and where. */

import { UsageError } from "../base/errors.ts";

/** Characters [start, end) of the text, counted as JavaScript counts them. */
export interface SearchSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * A search that cannot be understood. Its message has the value and the remedy; `span` is the place
 * to underline.
 */
export class SearchError extends UsageError {
  readonly span: SearchSpan;

  constructor(message: string, span: SearchSpan) {
    super(message, { reason: "search_syntax", details: { span } });
    this.span = span;
  }
}
