/** What is in an Arrow IPC stream. */

import { present } from "../base/assert.ts";
import { viewOf } from "../base/bytes.ts";
import { OperatingError } from "../base/errors.ts";
import type { Column } from "../schema/schema.ts";
import type { ColumnBatch } from "./batch.ts";
import { decodeBatch, decodeSchemaMessage } from "./ipc.ts";
import { bodyBytesOf, CONTINUATION, PREFIX_BYTES } from "./ipc_message.ts";

export interface StreamRows {
  /** The stream's own. */
  readonly columns: readonly Column[];
  readonly batches: readonly ColumnBatch[];
}

/** The rows, as views of `stream`. Throws `corrupt`. */
export function rowsOfStream(stream: Uint8Array): StreamRows {
  const [schemaMessage, ...messages] = messagesOfStream(stream);
  const columns = decodeSchemaMessage(present(schemaMessage, "schema message"));
  const schema = { columns, tags: [] };
  return { columns, batches: messages.map((message) => decodeBatch(message, schema)) };
}

/**
 * The schema message and those of the batches, as views of `stream`. Throws `corrupt` for what is
 * no stream.
 */
function messagesOfStream(stream: Uint8Array): Uint8Array[] {
  const view = viewOf(stream);
  const messages: Uint8Array[] = [];
  let at = 0;
  while (at + PREFIX_BYTES <= stream.byteLength) {
    const metadataBytes = view.getInt32(at + 4, true);
    if (view.getUint32(at, true) !== CONTINUATION || metadataBytes < 0) throw corrupt(at);
    if (metadataBytes === 0) return messages;
    const bodyAt = at + PREFIX_BYTES + metadataBytes;
    if (bodyAt > stream.byteLength) throw corrupt(at);
    const end = bodyAt + bodyBytesOf(stream.subarray(at + PREFIX_BYTES, bodyAt));
    if (end > stream.byteLength) throw corrupt(at);
    messages.push(stream.subarray(at, end));
    at = end;
  }
  if (at !== stream.byteLength) throw corrupt(at);
  return messages;
}

function corrupt(at: number): OperatingError {
  return new OperatingError("corrupt", `Cannot read an Arrow stream: no message at byte ${at}`);
}
