/** The bytes around counts of words: deflated, with a checksum. */

import { deflateRawSync } from "node:zlib";
import { corruptSummary, SummaryReader, SummaryWriter } from "../summary/summary_bytes.ts";
import { ByteReader } from "./bits.ts";
import { inflated } from "./word_block.ts";

/** Far more than a writer's longest. */
const PLAIN_BYTES_MAX = 64 * 1024 * 1024;

/** Makes a blob, which `openCounts` reads. */
export function packCounts(plain: Uint8Array): Uint8Array {
  const writer = new SummaryWriter();
  writer.varint(plain.length);
  writer.bytes(deflateRawSync(plain));
  return writer.finish();
}

/** The bytes of a blob, and how many there are. Errors: `corrupt`. */
export function openCounts(
  blob: Uint8Array,
): { readonly reader: ByteReader; readonly bytes: number } {
  const outer = new SummaryReader(blob);
  const bytes = outer.varint();
  if (bytes > PLAIN_BYTES_MAX) throw impossibleCounts();
  return { reader: new ByteReader(inflated(outer.rest(), bytes)), bytes };
}

/** The error of counts that fit neither each other nor their file. */
export function impossibleCounts() {
  return corruptSummary("its counts of words are impossible");
}
