/** Whether bytes that were read are those of a stored file, before they are written elsewhere. */

import { type FileCheck, type RecordedFile, verifyFile } from "./verify_file.ts";

/** What `verifyFile` says of a file that holds `bytes`. */
export function verifyBytes(file: RecordedFile, bytes: Uint8Array): Promise<FileCheck> {
  const { key } = file;
  return verifyFile({
    head: () => Promise.resolve({ key, size: bytes.byteLength, modifiedMs: 0 }),
    getRange: (_, offset, length) => Promise.resolve(bytes.slice(offset, offset + length)),
  }, file);
}
