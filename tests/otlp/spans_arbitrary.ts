/**
 * Random trace requests for property tests: all kinds of values, names that meet, missing and odd
 * fields.
 */

import fc from "fast-check";
import type { Span, TracesRequest } from "../../proto/otlp_traces.ts";
import { attributes, nanos, text } from "./values_arbitrary.ts";

function id(length: number): fc.Arbitrary<Uint8Array> {
  return fc.uint8Array({ minLength: length, maxLength: length })
    .filter((bytes) => bytes.some((byte) => byte !== 0));
}

const idOrNone = (length: number) =>
  fc.oneof(id(length), fc.constant(new Uint8Array(length)), fc.constant(new Uint8Array(0)));

const count = fc.oneof(fc.constant(0), fc.nat(9), fc.nat(), fc.constant(2 ** 32 - 1));
const enumNumber = fc.oneof({ weight: 5, arbitrary: fc.nat(6) }, fc.integer());

const event = fc.record({
  timeUnixNano: nanos,
  name: text,
  attributes,
  droppedAttributesCount: count,
}, { requiredKeys: [] });

const link = fc.record({
  traceId: idOrNone(16),
  spanId: idOrNone(8),
  traceState: text,
  attributes,
  droppedAttributesCount: count,
  flags: count,
}, { requiredKeys: [] });

const span: fc.Arbitrary<Span> = fc.record({
  traceId: id(16),
  spanId: id(8),
  traceState: text,
  parentSpanId: idOrNone(8),
  name: text,
  kind: enumNumber,
  startTimeUnixNano: nanos,
  endTimeUnixNano: nanos,
  attributes,
  droppedAttributesCount: count,
  events: fc.array(event, { maxLength: 3 }),
  droppedEventsCount: count,
  links: fc.array(link, { maxLength: 3 }),
  droppedLinksCount: count,
  status: fc.record({ message: text, code: enumNumber }, { requiredKeys: [] }),
  flags: count,
}, { requiredKeys: ["traceId", "spanId"] });

/** Requests that every decoder must accept. */
export const tracesRequest: fc.Arbitrary<TracesRequest> = fc.record({
  resourceSpans: fc.array(
    fc.record({
      resource: fc.record({ attributes }, { requiredKeys: [] }),
      scopeSpans: fc.array(
        fc.record({
          scope: fc.record({ name: text, version: text, attributes }, { requiredKeys: [] }),
          spans: fc.array(span, { maxLength: 3 }),
        }, { requiredKeys: [] }),
        { maxLength: 3 },
      ),
    }, { requiredKeys: [] }),
    { maxLength: 3 },
  ),
});
