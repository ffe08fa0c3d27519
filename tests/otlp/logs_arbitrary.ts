/**
 * Random log requests for property tests: all kinds of values, names that meet, missing and odd
 * fields.
 */

import fc from "fast-check";
import type { LogRecord, LogsRequest } from "../../proto/otlp_logs.ts";
import { anyValue, attributes, nanos, text } from "./values_arbitrary.ts";

function idOf(length: number): fc.Arbitrary<Uint8Array> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.uint8Array({ maxLength: length }) },
    fc.constant(new Uint8Array(length)),
  );
}

const logRecord: fc.Arbitrary<LogRecord> = fc.record({
  timeUnixNano: nanos,
  observedTimeUnixNano: nanos,
  severityNumber: fc.oneof(fc.nat(24), fc.integer()),
  severityText: fc.oneof(fc.constantFrom("INFO", ""), text),
  body: anyValue,
  attributes,
  droppedAttributesCount: fc.oneof(fc.nat(9), fc.nat()),
  flags: fc.oneof(fc.nat(1), fc.nat()),
  traceId: idOf(16),
  spanId: idOf(8),
  eventName: text,
}, { requiredKeys: [] });

/** Records of the same make, as most requests have them. */
const alikeRecords = fc.tuple(logRecord, fc.array(fc.tuple(text, nanos), { maxLength: 4 })).map(
  ([record, changes]) => [
    record,
    ...changes.map(([stringValue, timeUnixNano]) => ({
      ...record,
      timeUnixNano,
      attributes: record.attributes?.map(({ key }, i) => ({
        key,
        value: i % 2 === 0 ? { stringValue } : { arrayValue: { values: [{ stringValue }] } },
      })) ?? [],
    })),
  ],
);

/** Requests that every decoder must accept. */
export const logsRequest: fc.Arbitrary<LogsRequest> = fc.record({
  resourceLogs: fc.array(
    fc.record({
      resource: fc.record({ attributes }, { requiredKeys: [] }),
      scopeLogs: fc.array(
        fc.record({
          scope: fc.record({ name: text, version: text, attributes }, { requiredKeys: [] }),
          logRecords: fc.oneof(fc.array(logRecord, { maxLength: 4 }), alikeRecords),
        }, { requiredKeys: [] }),
        { maxLength: 3 },
      ),
    }, { requiredKeys: [] }),
    { maxLength: 3 },
  ),
});
