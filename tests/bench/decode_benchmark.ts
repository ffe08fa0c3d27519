/** Logs and spans → columns on one core, beside protobufjs and `JSON.parse` on the same bytes. */

import { type Benchmark, type BenchRow, formatCount, formatRatio } from "./benchmark.ts";
import { benchDecode } from "./decode.ts";

/** The ratio to reach, by place in `benchDecode`; the others are for orientation. */
const BARS: readonly (number | undefined)[] = [5, undefined, 0.6];

export const DECODE: Benchmark = {
  name: "decode",
  summary: "requests become columns, beside protobufjs and JSON.parse",
  sizes: { small: { rows: 500, seconds: 2 }, full: { rows: 500, seconds: 6 } },
  run({ rows, seconds }) {
    const table = [...benchDecode({ records: rows, seconds })].map((rates, place): BenchRow => {
      const bar = BARS[place];
      return {
        what: rates.what,
        ours: `${formatCount(rates.oursRowsPerSec)} rows/s`,
        reference: `${rates.reference} ${formatCount(rates.referenceRowsPerSec)} rows/s`,
        ratio: formatRatio(rates.ratio),
        target: bar === undefined ? "for orientation" : `≥ ${bar}×`,
        reached: bar === undefined || rates.ratio >= bar,
      };
    });
    return Promise.resolve(table);
  },
};
