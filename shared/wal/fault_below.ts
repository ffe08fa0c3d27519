/** What senders of rows are told of a failure. */

import { messageOf } from "../base/errors.ts";

/**
 * The message of `error`, whose paths begin at `root` as `<wal>`: where this machine keeps its
 * files is not a sender's to know. The log has the whole of it.
 */
export function faultBelow(root: string, error: unknown): string {
  return messageOf(error).replaceAll(root, "<wal>");
}
