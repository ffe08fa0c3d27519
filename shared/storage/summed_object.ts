/**
 * Objects that are named by a UUID with their checksum (`../base/summed_uuid.ts`). Metadata of
 * tables is stored so. The catalog names a table's metadata, the metadata its manifest lists, and
 * these their manifests. Each name says what its bytes are.
 */

import { crc32 } from "../base/bytes.ts";
import { damagedFile } from "../base/damaged_file.ts";
import { sumInName, withSum } from "../base/summed_uuid.ts";
import { type Random, uuidV4 } from "../os/random.ts";
import type { ReadableStore } from "./object_store.ts";

/** A fresh UUID for an object that has these bytes. */
export function uuidOfBytes(random: Random, bytes: Uint8Array): string {
  return withSum(uuidV4(random), crc32(bytes));
}

/**
 * The whole object, held against the sum that its name carries. Names without one, of other
 * programs and earlier versions, are read as they are. Errors: `damaged_file`; the store's.
 */
export async function getSummed(
  store: Pick<ReadableStore, "get">,
  key: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await store.get(key);
  const expected = sumInName(key);
  if (expected === undefined || crc32(bytes) === expected) return bytes;
  throw damagedFile(key, { offset: 0, byteLength: bytes.byteLength, what: "the file" });
}
