/**
 * `Content-Encoding` of request bodies: identity, gzip, deflate (the zlib format of RFC 9110),
 * zstd, and Snappy.
 *
 * `snappy` is the block format, `x-snappy-framed` the framed one, as in the OpenTelemetry
 * Collector's `confighttp`. Collectors of before 2025 sent framed bodies as `snappy`, and gRPC's
 * `snappy` is framed in Go: the first bytes of a `snappy` body say which it is.
 *
 * Invariant: never inflates more than its cap (+ one output chunk), whatever the compressed
 * bytes claim. Decoding is synchronous: 16 MiB take about 35 ms, and the thread pool costs more
 * than that for usual bodies. `inflate.ts` decodes what arrives in pieces.
 */

import { gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { concatBytes } from "../base/bytes.ts";
import { messageOf, OperatingError } from "../base/errors.ts";
import { type BodyCap, bodyTooLarge } from "./body_too_large.ts";
import { SnappyBlock } from "./snappy_block.ts";
import { isFramed, SnappyFrames } from "./snappy_frames.ts";
import { TORN, zstdFrames } from "./zstd_frames.ts";

type Decoder = (bytes: Uint8Array, cap: BodyCap) => Uint8Array;

const DECODERS: Readonly<Record<string, Decoder>> = {
  identity: (bytes) => bytes,
  gzip: (bytes, cap) => decodeZlib(gunzipSync, bytes, cap),
  "x-gzip": (bytes, cap) => decodeZlib(gunzipSync, bytes, cap),
  deflate: (bytes, cap) => decodeZlib(inflateSync, bytes, cap),
  zstd: decodeZstd,
  snappy: (bytes, cap) => isFramed(bytes) ? decodeFramed(bytes, cap) : decodeBlock(bytes, cap),
  "x-snappy-framed": decodeFramed,
};

/** For the `Accept-Encoding` header of a 415 and for error texts. */
export const ACCEPTED_ENCODINGS = "gzip, deflate, zstd, snappy, x-snappy-framed, identity";
/** Reason of the error that such an answer tells. */
export const UNSUPPORTED_ENCODING = "unsupported_content_encoding";

/**
 * What a header's value says, which is a list: RFC 9110 sections 5.6.1 and 8.4. Throws
 * `unsupported_media_type` for what this service does not decode, several encodings among it.
 */
export function requireKnownEncoding(encoding: string): string {
  const names = encoding.split(",").map((name) => name.trim().toLowerCase());
  const [name = "identity", ...further] = names.filter((name) =>
    name !== "" && name !== "identity"
  );
  if (further.length === 0 && Object.hasOwn(DECODERS, name)) return name;
  throw new OperatingError(
    "unsupported_media_type",
    `cannot decode a body with Content-Encoding ${JSON.stringify(encoding)}: ` +
      `send one of ${ACCEPTED_ENCODINGS}`,
    { reason: UNSUPPORTED_ENCODING },
  );
}

/**
 * The decoded body. Errors: `invalid_argument` when the bytes are not of that encoding or are cut
 * short, `too_large` past the cap, `unsupported_media_type`.
 */
export function decodeContent(bytes: Uint8Array, encoding: string, cap: BodyCap): Uint8Array {
  const name = requireKnownEncoding(encoding);
  const decode = DECODERS[name] ?? DECODERS.identity;
  try {
    return decode === undefined ? bytes : decode(bytes, cap);
  } catch (error) {
    if (error instanceof OperatingError) throw error;
    if ((error as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE") {
      throw bodyTooLarge(cap, { decompressed: true });
    }
    throw badEncoding(name, error);
  }
}

/** For a body that cannot be decoded as `name` because of `error`. */
export function badEncoding(name: string, error: unknown): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `cannot decompress the request body as ${name}: ${messageOf(error)}; ` +
      `send a whole ${name} body or drop the Content-Encoding header`,
    { reason: "bad_content_encoding", cause: error },
  );
}

/**
 * Throws where a decoder has `read` fewer bytes than it was `given`. zlib ignores what follows the
 * end of its data. Ignored rows must not be acknowledged.
 */
export function requireNothingBehind(
  { given, read }: { readonly given: number; readonly read: number },
): void {
  if (read < given) throw new Error("more bytes follow its end");
}

function decodeZlib(
  decode: typeof gunzipSync,
  bytes: Uint8Array,
  { bytesMax }: BodyCap,
): Uint8Array {
  // The types of zlib do not have the form of an answer with `info`.
  const { buffer, engine } = decode(bytes, {
    maxOutputLength: bytesMax,
    info: true,
  }) as unknown as {
    readonly buffer: Uint8Array;
    readonly engine: { readonly bytesWritten: number };
  };
  requireNothingBehind({ given: bytes.byteLength, read: engine.bytesWritten });
  return buffer;
}

function decodeZstd(bytes: Uint8Array, cap: BodyCap): Uint8Array {
  const frames = zstdFrames(bytes);
  if (frames === undefined) throw new Error(TORN);
  const parts: Uint8Array[] = [];
  let total = 0;
  for (const frame of frames) {
    // A limit of 0 would mean "no limit"; one byte over is found right below.
    const part = zstdDecompressSync(frame, { maxOutputLength: Math.max(1, cap.bytesMax - total) });
    total += part.byteLength;
    if (total > cap.bytesMax) throw bodyTooLarge(cap, { decompressed: true });
    parts.push(part);
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : concatBytes(parts);
}

function decodeBlock(bytes: Uint8Array, cap: BodyCap): Uint8Array {
  return SnappyBlock.whole(bytes, (announced) => requireWithin(cap, announced));
}

function decodeFramed(bytes: Uint8Array, cap: BodyCap): Uint8Array {
  const frames = new SnappyFrames();
  const parts: Uint8Array[] = [];
  let total = 0;
  for (const part of frames.decode(bytes)) {
    total += part.byteLength;
    requireWithin(cap, total);
    parts.push(part);
  }
  frames.finish();
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : concatBytes(parts);
}

function requireWithin(cap: BodyCap, bytes: number): void {
  if (bytes > cap.bytesMax) throw bodyTooLarge(cap, { decompressed: true });
}
