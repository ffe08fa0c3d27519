/**
 * OTLP `ExportLogsServiceRequest` in protobuf → columns of the table `events`, with no object per
 * record.
 *
 * The mapping is that of docs/api/tables.md#events. Decided here beyond it:
 * - A host.name, service.name, sourcetype or index that is no string fills its column with its JSON
 *   text. One that is empty or has no value fills nothing and stays among the attributes.
 * - Where names meet, the later member of the order stands.
 * - An id of zeros is none.
 */

import { regularLogsRequest } from "../../../proto/otlp_logs.ts";
import type { ColumnBatch } from "../../../shared/columns/batch.ts";
import { createLogsDecoder } from "./logs_request_decoder.ts";
import type { DecodeOptions } from "../request_decoder.ts";

/**
 * The rows of a request, in its order. Throws `invalid_argument` when it is not protobuf of that
 * message, when a string is not UTF-8, a time is past 2262 or a value nests too deep. Throws
 * `too_large` when a column outgrows its limit.
 */
export function decodeLogsProtobuf(body: Uint8Array, options: DecodeOptions): ColumnBatch {
  return decoder.decode(body, options);
}

const decoder = createLogsDecoder(regularLogsRequest);
