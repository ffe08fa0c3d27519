import assert from "node:assert/strict";
import fc from "fast-check";
import { encodeLogsRequest } from "../../proto/otlp_logs.ts";
import { isOperatingError } from "../../shared/base/errors.ts";
import { type RowObject, rowsOf } from "../../shared/columns/rows.ts";
import { logsRequest } from "./logs_arbitrary.ts";
import { decodeLogsProtobuf } from "./logs_protobuf.ts";
import { referenceRows } from "./logs_reference.ts";

const NOW_NS = 1_763_672_645_123_456_789n;

/** Rows, or undefined for a refusal; any other error fails the test. */
function decoded(body: Uint8Array): RowObject[] | undefined {
  try {
    return rowsOf(decodeLogsProtobuf(body, { nowNs: NOW_NS }));
  } catch (error) {
    assert(isOperatingError(error, "invalid_argument"), `unexpected: ${error}`);
    return undefined;
  }
}

function referenceOrRefusal(body: Uint8Array): RowObject[] | undefined {
  try {
    return referenceRows(body, NOW_NS);
  } catch {
    return undefined;
  }
}

Deno.test({
  name: "decodeLogsProtobuf equals the reference on random requests",
  fn() {
    fc.assert(
      fc.property(logsRequest, (request) => {
        const body = encodeLogsRequest(request);
        assert.deepEqual(decoded(body), referenceRows(body, NOW_NS));
      }),
      { numRuns: 1000 },
    );
  },
});

Deno.test({
  name: "decodeLogsProtobuf accepts and refuses mutated bytes as the reference does",
  fn() {
    const mutation = fc.record({ at: fc.nat(), byte: fc.nat(255), kind: fc.nat(3) });
    fc.assert(
      fc.property(
        logsRequest,
        fc.array(mutation, { minLength: 1, maxLength: 3 }),
        (request, all) => {
          let body = Uint8Array.from(encodeLogsRequest(request));
          for (const { at, byte, kind } of all) body = mutated(body, { at, byte, kind });
          assert.deepEqual(decoded(body), referenceOrRefusal(body));
        },
      ),
      { numRuns: 5000 },
    );
  },
});

function mutated(
  body: Uint8Array<ArrayBuffer>,
  { at, byte, kind }: { at: number; byte: number; kind: number },
): Uint8Array<ArrayBuffer> {
  const place = at % (body.length + 1);
  if (kind === 0) return body.slice(0, place);
  if (kind === 1) return Uint8Array.from([...body.slice(0, place), byte, ...body.slice(place)]);
  if (kind === 2) return Uint8Array.from([...body.slice(0, place), ...body.slice(place + 1)]);
  const changed = body.slice();
  if (place < body.length) changed[place] = byte;
  return changed;
}
