/** OTLP `ExportTraceServiceRequest` in JSON → columns of the table `traces`. */

import type { ColumnBatch } from "../../../shared/columns/batch.ts";
import { JsonRequestWriter } from "../json/parsed_request.ts";
import type { DecodeOptions } from "../request_decoder.ts";
import { SPANS_JSON } from "../json/spans_messages.ts";
import { decodeSpansProtobuf } from "./spans_protobuf.ts";

/**
 * The rows of a request, in its order. Throws `invalid_argument` for text that is no JSON object of
 * that message, and what `decodeSpansProtobuf` throws.
 */
export function decodeSpansJson(body: Uint8Array, options: DecodeOptions): ColumnBatch {
  return request.through(body, (protobuf) => decodeSpansProtobuf(protobuf, options));
}

const request = new JsonRequestWriter(SPANS_JSON);
