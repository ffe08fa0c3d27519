/** What OTLP/JSON of log records has and spans do not have. */

import type { JsonObject } from "../../../shared/document/json_object.ts";
import { LOGS_REQUEST } from "./common_messages.ts";
import type { JsonRequestShape, JsonRequestWriter } from "./parsed_request.ts";

export const LOGS_JSON: JsonRequestShape = {
  resources: "resourceLogs",
  scopes: "scopeLogs",
  records: "logRecords",
  message: LOGS_REQUEST,
  writeRecord,
};

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
