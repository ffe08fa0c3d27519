/**
 * Bodies that the server must take, as starting points: encoded by other code than decodes them.
 */

import fc from "fast-check";
import { encodeLogsRequest } from "../../proto/otlp_logs.ts";
import { encodeTracesRequest } from "../../proto/otlp_traces.ts";
import { jsonForm } from "../otlp/json_form.ts";
import { logsRequest } from "../otlp/logs_arbitrary.ts";
import { tracesRequest } from "../otlp/spans_arbitrary.ts";
import { utf8 } from "../../shared/base/bytes.ts";
import type { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { pick } from "./mutate_bytes.ts";

export interface ValidRequest {
  readonly protobuf: Uint8Array;
  readonly json: string;
}

export interface ValidRequests {
  readonly logs: readonly ValidRequest[];
  readonly traces: readonly ValidRequest[];
}

const POOL = 150;

/** Valid requests, equal for equal seeds. */
export function validRequests(seed: number): ValidRequests {
  const options = { seed, numRuns: POOL };
  const same = (hex: string) => hex;
  return {
    logs: fc.sample(logsRequest, options).map((request) => ({
      protobuf: encodeLogsRequest(request),
      json: jsonForm(request, same),
    })),
    traces: fc.sample(tracesRequest, options).map((request) => ({
      protobuf: encodeTracesRequest(request),
      json: jsonForm(request, same),
    })),
  };
}

const ACTIONS: readonly string[] = [
  '{"index":{}}',
  '{"create":{"_index":"web"}}',
  '{"index":{"_index":"logs-a","_id":"1"}}',
  '{"index":{"_index":"web","_type":"_doc","pipeline":null}}',
  '{"index":{"_index":"Bad Name"}}',
  '{"index":{"_index":"../up","_id":7}}',
  '{"update":{"_index":"web","_id":"1"}}',
  '{"delete":{"_index":"web","_id":"1"}}',
];

export const DOCUMENTS: readonly string[] = [
  '{"@timestamp":"2025-11-20T21:04:05.123456789Z","message":"hello","host":{"name":"h"}}',
  '{"message":"a","level":"info","n":12345678901234567890,"f":1.5,"ok":true,"none":null}',
  '{"timestamp":1763672645123,"service":{"name":"shop","version":"1"},"tags":["a","b"]}',
  '{"host":"h","source":"s","sourcetype":"t","index":"i","nested":{"a":{"b":{"c":[1,{"d":2}]}}}}',
  '{"@timestamp":"2026-01-02T03:04:05,123","message":"naive","_id":"1","big":1e-400}',
  '{"@timestamp":"2026-01-02","n":0.12345678901234567890,"far":1e400}',
  "{}",
];

/** A bulk body of whole pairs; actions may be refused one by one, the request never. */
export function bulkLines(random: SeededRandom): string[] {
  return Array.from({ length: 1 + random.below(12) }, () => {
    const action = pick(random, ACTIONS);
    return action.startsWith('{"delete"') ? [action] : [action, pick(random, DOCUMENTS)];
  }).flat();
}

export function bulkBody(lines: readonly string[]): Uint8Array {
  return utf8(`${lines.join("\n")}\n`);
}
