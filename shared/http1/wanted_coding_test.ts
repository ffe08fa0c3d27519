/** `Accept-Encoding` by RFC 9110 section 12.5.3, and its own examples. */

import assert from "node:assert/strict";
import { type WantedCoding, wantedCoding } from "./wanted_coding.ts";

const CASES: [field: string | null, wanted: WantedCoding][] = [
  [null, "plain"],
  ["", "plain"],
  ["identity", "plain"],
  ["br", "plain"],
  ["zstd", "plain"],
  ["gzip", "gzip"],
  ["GZip", "gzip"],
  ["x-gzip", "gzip"],
  ["gzip, deflate", "gzip"],
  ["gzip, deflate, br, zstd", "gzip"],
  ["compress, gzip", "gzip"],
  ["*", "gzip"],
  ["compress;q=0.5, gzip;q=1.0", "gzip"],
  ["gzip;q=1.0, identity; q=0.5, *;q=0", "gzip"],
  ["gzip\t; q=0.001", "gzip"],
  ["br, *;q=0.1", "gzip"],
  ["gzip;q=0", "plain"],
  ["gzip;q=0.000", "plain"],
  ["*;q=0", "plain"],
  ["gzip;q=0, *", "plain"],
  ["gzip;q=0.5, identity;q=0.5", "gzip"],
  ["gzip;q=0.5, identity", "plain"],
  ["gzip, identity;q=0", "gzip_alone"],
  ["gzip;q=0.1, *;q=0", "gzip_alone"],
  ["*, identity;q=0", "gzip_alone"],
  ["gzip, identity;q=0.1, *;q=0", "gzip"],
  ["identity;q=0", "plain"],
  ["br, identity;q=0", "plain"],
  ["gzip;q=2", "plain"],
  ["gzip;q=0.1234", "plain"],
  ["gzip;level=9", "plain"],
  [",, gzip,", "gzip"],
  ["my-gzip", "plain"],
];

for (const [field, wanted] of CASES) {
  Deno.test({
    name: `Accept-Encoding ${JSON.stringify(field)} wants ${wanted}`,
    fn: () => assert.equal(wantedCoding(field), wanted),
  });
}
