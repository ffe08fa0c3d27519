/** What became of each action of a bulk request, in the request's order. */

import type { BulkAction } from "./action_line.ts";

export interface ItemError {
  /**
   * 400 for good; 429 for "send it again". No other: docs/clients.md#a-bulk-reply-that-all-accept.
   */
  readonly status: 400 | 429;
  readonly type: string;
  readonly reason: string;
}

export interface BulkItem {
  readonly action: BulkAction;
  /** The index as the client wrote it; empty when it named none. */
  readonly index: string;
  /** What the client sent, else generated. */
  readonly id: string;
  /** Set while the document is decoded or appended, undefined once it is stored. */
  error: ItemError | undefined;
}
