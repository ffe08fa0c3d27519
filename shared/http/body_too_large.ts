/** The cap of a body, and the one text of a body past it. */

import { formatBytes } from "../base/bytes.ts";
import { OperatingError } from "../base/errors.ts";

export interface BodyCap {
  /** The cap of a body, compressed and decompressed alike. */
  readonly bytesMax: number;
  /** The server's option that raises it, as its error names it; undefined: none does. */
  readonly option?: string;
}

export interface BodyTooLargeOptions {
  /** The cap was passed while inflating. */
  readonly decompressed?: boolean;
  /** What the sender announced, in bytes. */
  readonly announced?: number;
}

/** The `too_large` for a body past its cap. It names the cap and the option that raises it. */
export function bodyTooLarge(
  { bytesMax, option }: BodyCap,
  options: BodyTooLargeOptions = {},
): OperatingError {
  const what = options.announced !== undefined
    ? `request body of ${options.announced} bytes`
    : options.decompressed
    ? "decompressed request body"
    : "request body";
  const remedy = option === undefined
    ? "send a smaller one"
    : `send smaller batches, or start the server with a larger ${option}`;
  return new OperatingError(
    "too_large",
    `${what} is over the limit of ${bytesMax} bytes (${formatBytes(bytesMax)}): ${remedy}`,
    { reason: "body_too_large" },
  );
}
