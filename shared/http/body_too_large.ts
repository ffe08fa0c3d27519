/** The one text of a body past its cap. */

import { formatBytes } from "../base/bytes.ts";
import { OperatingError } from "../base/errors.ts";

export interface BodyTooLargeOptions {
  /** The cap was passed while inflating. */
  readonly decompressed?: boolean;
  /** What the sender announced, in bytes. */
  readonly announced?: number;
}

export function bodyTooLarge(bytesMax: number, options: BodyTooLargeOptions = {}): OperatingError {
  const what = options.announced !== undefined
    ? `request body of ${options.announced} bytes`
    : options.decompressed
    ? "decompressed request body"
    : "request body";
  return new OperatingError(
    "too_large",
    `${what} is over the limit of ${bytesMax} bytes (${formatBytes(bytesMax)}): ` +
      `send smaller batches or raise the server's limit`,
    { reason: "body_too_large" },
  );
}
