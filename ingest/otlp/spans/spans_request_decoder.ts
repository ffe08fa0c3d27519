/**
 * The decoder of spans, apart from what merges irregular requests, which needs a package.
 * `spans_protobuf.ts` tells the mapping.
 */

import { RequestDecoder } from "../request_decoder.ts";
import { SpansColumns } from "./spans_columns.ts";
import type { SpansContext } from "./spans_context.ts";
import { SpansDecoder } from "./span_decoder.ts";
import { ValueReader } from "../wire/value_reader.ts";
import { WireReader } from "../wire/wire_reader.ts";

/** `regular`: of the same message with every singular field once. */
export function createSpansDecoder(
  regular: (body: Uint8Array) => Uint8Array,
): RequestDecoder<SpansContext> {
  const reader = new WireReader();
  const values = new ValueReader(reader);
  const columns = new SpansColumns();
  const records = new SpansDecoder({ reader, values, columns });
  return new RequestDecoder({ reader, values, records, columns, regular });
}
