/**
 * The decoder of log records, apart from what merges irregular requests, which needs a package.
 * `logs_protobuf.ts` tells the mapping.
 */

import type { ContextMembers } from "../attributes/context_members.ts";
import { LogColumns } from "./log_columns.ts";
import { RecordDecoder } from "./log_record_decoder.ts";
import { RequestDecoder } from "../request_decoder.ts";
import { ScopeContext } from "../scope_context.ts";
import { ValueReader } from "../wire/value_reader.ts";
import { WireReader } from "../wire/wire_reader.ts";

/** `regular`: of the same message with every singular field once. */
export function createLogsDecoder(
  regular: (body: Uint8Array) => Uint8Array,
): RequestDecoder<ScopeContext> {
  const reader = new WireReader();
  const values = new ValueReader(reader);
  const columns = new LogColumns();
  const record = new RecordDecoder({ reader, values, columns });
  const records = {
    start: (nowNs: bigint) => record.start(nowNs),
    context: (members: ContextMembers) => new ScopeContext(members),
    decode: (end: number, context: ScopeContext) => record.decode(end, context),
  };
  return new RequestDecoder({ reader, values, records, columns, regular });
}
