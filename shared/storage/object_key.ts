/**
 * What an object key may look like. Keys become file names and parts of URIs, so one check keeps
 * every implementation from reading or writing outside its root.
 */

import { OperatingError } from "../base/errors.ts";

/** S3's limit, in UTF-8 bytes; file systems allow more in total and 255 for each part. */
const KEY_BYTES_MAX = 1024;
/** Part that no key may have: stores keep unfinished objects in folders of this name. */
export const TEMPORARY_DIR = ".tmp";
const PART_BYTES_MAX = 255;
const encoder = new TextEncoder();

/**
 * Returns `key`; throws `invalid_argument` when it is not a relative key without `.` and `..`
 * parts.
 */
export function checkKey(key: string): string {
  const fault = keyFault(key);
  if (fault !== undefined) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot use ${JSON.stringify(key)} as an object key: ${fault}`,
      { reason: "bad_object_key" },
    );
  }
  return key;
}

/** Returns `prefix`; it may be empty and may end in the middle of a part. */
export function checkPrefix(prefix: string): string {
  const slash = prefix.lastIndexOf("/");
  if (slash >= 0) checkKey(prefix.slice(0, slash));
  return prefix;
}

function keyFault(key: string): string | undefined {
  if (key.length === 0) return "it is empty";
  // A NUL ends a C string early; a backslash separates parts on some systems.
  if (key.includes("\0") || key.includes("\\")) return "it holds a NUL or a backslash";
  if (!key.isWellFormed()) return "it is not well-formed Unicode";
  if (isLonger(key, KEY_BYTES_MAX)) return `it is over ${KEY_BYTES_MAX} bytes`;
  for (const part of key.split("/")) {
    if (part === "") return "it has an empty part; keys are relative, with single slashes";
    if (part === "." || part === "..") return `it has a part ${JSON.stringify(part)}`;
    if (part === TEMPORARY_DIR) return `${TEMPORARY_DIR} is for unfinished objects`;
    if (isLonger(part, PART_BYTES_MAX)) {
      return `it has a part over ${PART_BYTES_MAX} bytes`;
    }
  }
  return undefined;
}

/**
 * In UTF-8, of which a unit of JavaScript's texts takes three bytes at most: counted only where
 * that leaves it open.
 */
function isLonger(text: string, bytesMax: number): boolean {
  return text.length * 3 > bytesMax && encoder.encode(text).byteLength > bytesMax;
}
