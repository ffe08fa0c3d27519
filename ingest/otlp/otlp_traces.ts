/**
 * `POST /v1/traces`: into the index `traces`, whose columns no other index has. The header
 * `x-svc-index` is not read: senders set it once for all that they send.
 */

import { TRACES_TABLE } from "../../shared/schema/traces.ts";
import { decodeSpansJson } from "./spans/spans_json.ts";
import { decodeSpansProtobuf } from "./spans/spans_protobuf.ts";
import type { OtlpSignal } from "./otlp_route.ts";

export const TRACES: OtlpSignal = {
  endpoint: "traces",
  decodeProtobuf: decodeSpansProtobuf,
  decodeJson: decodeSpansJson,
  resources: "resourceSpans",
  laneOf: (_lanes, _head, tenant) => ({ tenant, index: TRACES_TABLE }),
};
