/** OTLP `ExportLogsServiceRequest` in JSON → columns of the table `events`. */

import type { ColumnBatch } from "../../shared/columns/batch.ts";
import type { JsonObject } from "./json_fields.ts";
import { LOGS_REQUEST } from "./json_messages.ts";
import { JsonRequestWriter } from "./json_request.ts";
import { decodeLogsProtobuf } from "./logs_protobuf.ts";
import type { DecodeOptions } from "./request_decoder.ts";

/**
 * The rows of a request, in its order. Throws `invalid_argument` for text that is no JSON object of that message,
 * and what `decodeLogsProtobuf` throws.
 */
export function decodeLogsJson(body: Uint8Array, options: DecodeOptions): ColumnBatch {
  return request.through(body, (protobuf) => decodeLogsProtobuf(protobuf, options));
}

const request = new JsonRequestWriter({
  resources: "resourceLogs",
  scopes: "scopeLogs",
  records: "logRecords",
  message: LOGS_REQUEST,
  writeRecord,
});

function writeRecord(to: JsonRequestWriter, record: JsonObject): void {
  to.time(0x09, record.timeUnixNano, "timeUnixNano");
  to.time(0x59, record.observedTimeUnixNano, "observedTimeUnixNano");
  to.int32(0x10, record.severityNumber, "severityNumber");
  to.string(0x1a, record.severityText, "severityText");
  to.value(0x2a, record.body, "body");
  to.keyValues(0x32, record);
  to.uint32(0x38, record.droppedAttributesCount, "droppedAttributesCount");
  to.fixed32(0x45, record.flags, "flags");
  to.id(0x4a, record.traceId, "traceId");
  to.id(0x52, record.spanId, "spanId");
  to.string(0x62, record.eventName, "eventName");
}
