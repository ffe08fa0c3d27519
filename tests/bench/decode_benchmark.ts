/** protobuf logs and spans → columns on one core, beside protobufjs on the same bytes. */

import { type Benchmark, formatCount, formatRatio } from "./benchmark.ts";
import { benchDecode } from "./decode.ts";

export const DECODE: Benchmark = {
  name: "decode",
  summary: "requests become columns, beside protobufjs and JSON.parse",
  sizes: { small: { rows: 500, seconds: 1 }, full: { rows: 500, seconds: 4 } },
  run({ rows, seconds }) {
    const rates = benchDecode({ records: rows, seconds });
    const protobuf = rates.columnarRowsPerSec / rates.protobufjsRowsPerSec;
    const spans = rates.spansRowsPerSec / rates.spansProtobufjsRowsPerSec;
    const json = rates.jsonRowsPerSec / rates.jsonParseRowsPerSec;
    return Promise.resolve([
      {
        what: `protobuf, ${Math.round(rates.bytesPerRecord)} bytes a record`,
        ours: `${formatCount(rates.columnarRowsPerSec)} rows/s`,
        reference: `protobufjs ${formatCount(rates.protobufjsRowsPerSec)} rows/s`,
        ratio: formatRatio(protobuf),
        target: "≥ 5×",
        reached: protobuf >= 5,
      },
      {
        what: "JSON, the same records",
        ours: `${formatCount(rates.jsonRowsPerSec)} rows/s`,
        reference: `JSON.parse ${formatCount(rates.jsonParseRowsPerSec)} rows/s`,
        ratio: formatRatio(json),
        target: "for orientation",
        reached: true,
      },
      {
        what: `spans in protobuf, ${Math.round(rates.bytesPerSpan)} bytes a span`,
        ours: `${formatCount(rates.spansRowsPerSec)} rows/s`,
        reference: `protobufjs ${formatCount(rates.spansProtobufjsRowsPerSec)} rows/s`,
        ratio: formatRatio(spans),
        target: "for orientation",
        reached: true,
      },
    ]);
  },
};
