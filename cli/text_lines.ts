/** Lines of a byte stream as text. A line ends with LF or CR LF; the last one needs no end. */

import { OperatingError } from "../shared/base/errors.ts";

export interface TextLinesOptions {
  /** Refuse bytes that are no UTF-8; otherwise each becomes U+FFFD. Default false. */
  readonly strict?: boolean;
  /** Longest line; past it the stream is refused. Default 16 Mi. */
  readonly lineCharsMax?: number;
}

const LINE_CHARS_MAX = 16 * 1024 * 1024;

/**
 * Errors: `invalid_argument` for a line that is too long or, when `strict`, bytes that are no
 * UTF-8.
 */
export async function* textLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  options: TextLinesOptions = {},
): AsyncGenerator<string, void> {
  const { strict = false, lineCharsMax = LINE_CHARS_MAX } = options;
  const decoder = new TextDecoder("utf-8", { fatal: strict, ignoreBOM: false });
  let rest = "";
  let line = 1;
  const decode = (bytes?: Uint8Array<ArrayBuffer>): string[] => {
    const text = rest + decoded(decoder, bytes, line);
    const pieces = text.split("\n");
    rest = pieces.pop() ?? "";
    line += pieces.length;
    const tooLong = pieces.findIndex((piece) => piece.length > lineCharsMax);
    if (tooLong >= 0) throw lineTooLong(line - pieces.length + tooLong, lineCharsMax);
    if (rest.length > lineCharsMax) throw lineTooLong(line, lineCharsMax);
    return pieces;
  };
  for await (const bytes of stream) yield* decode(bytes).map(withoutCr);
  yield* decode().map(withoutCr);
  if (rest !== "") yield withoutCr(rest);
}

function decoded(
  decoder: TextDecoder,
  bytes: Uint8Array<ArrayBuffer> | undefined,
  line: number,
): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
  } catch (cause) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot read the input as UTF-8 at or after line ${line}: convert it first`,
      { cause },
    );
  }
}

function lineTooLong(line: number, lineCharsMax: number): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot take line ${line}: it is longer than ${lineCharsMax} characters`,
  );
}

function withoutCr(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
