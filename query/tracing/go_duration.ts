/** Go's duration texts (`1.2s`, `100us`, `1h2m`), in which Jaeger's clients write them. */

const NS_OF_UNIT: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  "µs": 1_000n, // U+00B5
  "μs": 1_000n, // U+03BC
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const TERM = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;
const DURATION_NS_MAX = 9_223_372_036_854_775_807n;
/** Digits after the point that count. The smallest part of an hour has 14 digits. */
const FRACTION_DIGITS_MAX = 18;
const TEXT_LENGTH_MAX = 64;

/**
 * Parses a duration into nanoseconds. Undefined for what is no duration, for a negative one, and
 * past 292 years.
 */
export function parseGoDuration(text: string): bigint | undefined {
  if (text === "0") return 0n;
  if (text === "" || text.length > TEXT_LENGTH_MAX) return undefined;
  TERM.lastIndex = text.startsWith("+") ? 1 : 0;
  let ns = 0n;
  do {
    const [, number, unit] = TERM.exec(text) ?? [];
    if (number === undefined || unit === undefined) return undefined;
    ns += termNs(number, NS_OF_UNIT[unit] ?? 0n);
  } while (TERM.lastIndex < text.length);
  return ns > DURATION_NS_MAX ? undefined : ns;
}

function termNs(number: string, unitNs: bigint): bigint {
  const [whole = "", fraction = ""] = number.split(".");
  const counted = fraction.slice(0, FRACTION_DIGITS_MAX);
  const scale = 10n ** BigInt(counted.length);
  return BigInt(whole || "0") * unitNs + BigInt(counted || "0") * unitNs / scale;
}
