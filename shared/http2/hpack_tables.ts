/** The constants of HPACK: RFC 7541, appendix A (static table) and B (Huffman code). */

/** A header field; names are lower-case. */
export type Field = readonly [name: string, value: string];

/** Index 1 first. */
export const STATIC_TABLE: readonly Field[] = [
  [":authority", ""],
  [":method", "GET"],
  [":method", "POST"],
  [":path", "/"],
  [":path", "/index.html"],
  [":scheme", "http"],
  [":scheme", "https"],
  ...["200", "204", "206", "304", "400", "404", "500"].map((code): Field => [":status", code]),
  ["accept-charset", ""],
  ["accept-encoding", "gzip, deflate"],
  ...[
    ...["accept-language", "accept-ranges", "accept", "access-control-allow-origin", "age"],
    ...["allow", "authorization", "cache-control", "content-disposition", "content-encoding"],
    ...["content-language", "content-length", "content-location", "content-range"],
    ...["content-type", "cookie", "date", "etag", "expect", "expires", "from", "host"],
    ...["if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since"],
    ...["last-modified", "link", "location", "max-forwards", "proxy-authenticate"],
    ...["proxy-authorization", "range", "referer", "refresh", "retry-after", "server"],
    ...["set-cookie", "strict-transport-security", "transfer-encoding", "user-agent", "vary"],
    ...["via", "www-authenticate"],
  ].map((name): Field => [name, ""]),
];

/**
 * Bits of each byte's code, and last of the end-of-string symbol. The code is canonical: shorter
 * codes first, among equals the smaller symbol, so the lengths say all.
 */
// deno-fmt-ignore
export const HUFFMAN_LENGTHS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
  28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
  5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
  6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
  24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
  21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
  26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  30,
];
