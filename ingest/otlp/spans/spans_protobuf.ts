/**
 * OTLP `ExportTraceServiceRequest` in protobuf → columns of the table `traces`, with no object per
 * span.
 *
 * The mapping is that of docs/api/tables.md#traces. Decided here beyond it:
 * - `service` is the resource's service.name, else `unknown`; one that filled it is not repeated in
 *   `resource_attributes`. Empty texts are null where the column may be.
 * - `attributes` holds the span's, then the scope's as `scope.<name>`, then `flags`,
 *   `dropped_attributes_count`, `dropped_events_count` and `dropped_links_count` where they are
 *   set; where names meet, the later one stands.
 * - A span without a start begins at its end, or now, and takes no time. Kinds and status codes
 *   without a name are their numbers. Ids: `spans_ids.ts`. Events and links: `spans_details.ts`.
 * - Any refusal is for the whole request, so no answer has `rejected_spans`.
 */

import { regularTracesRequest } from "../../../proto/otlp_traces.ts";
import type { ColumnBatch } from "../../../shared/columns/batch.ts";
import type { DecodeOptions } from "../request_decoder.ts";
import { createSpansDecoder } from "./spans_request_decoder.ts";

/**
 * The rows of a request, in its order.
 *
 * Throws `invalid_argument` when it is not protobuf of that message, or a string is not UTF-8. So
 * it does when a time is past 2262, an id invalid or a value nests too deep. Throws `too_large`
 * when a column outgrows its limit.
 */
export function decodeSpansProtobuf(body: Uint8Array, options: DecodeOptions): ColumnBatch {
  return decoder.decode(body, options);
}

const decoder = createSpansDecoder(regularTracesRequest);
