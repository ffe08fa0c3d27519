/** `POST /v1/logs`: into the index that the header `x-svc-index` names, else `events`. */

import { decodeLogsJson } from "./logs/logs_json.ts";
import { decodeLogsProtobuf } from "./logs/logs_protobuf.ts";
import type { OtlpSignal } from "./otlp_route.ts";

export const LOGS: OtlpSignal = {
  endpoint: "logs",
  decodeProtobuf: decodeLogsProtobuf,
  decodeJson: decodeLogsJson,
  resources: "resourceLogs",
  laneOf: (lanes, head, tenant) => lanes.choose(head, tenant),
};
