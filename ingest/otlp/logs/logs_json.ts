/** OTLP `ExportLogsServiceRequest` in JSON → columns of the table `events`. */

import type { ColumnBatch } from "../../../shared/columns/batch.ts";
import { JsonRequestWriter } from "../json/parsed_request.ts";
import { LOGS_JSON } from "../json/logs_messages.ts";
import { decodeLogsProtobuf } from "./logs_protobuf.ts";
import type { DecodeOptions } from "../request_decoder.ts";

/**
 * The rows of a request, in its order. Throws `invalid_argument` for text that is no JSON object of
 * that message, and what `decodeLogsProtobuf` throws.
 */
export function decodeLogsJson(body: Uint8Array, options: DecodeOptions): ColumnBatch {
  return request.through(body, (protobuf) => decodeLogsProtobuf(protobuf, options));
}

const request = new JsonRequestWriter(LOGS_JSON);
