/** curl against a started ingest server: each content encoding, and its retry after a refusal. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { snappyBlock, snappyFramed } from "../../shared/testing/snappy.ts";
import { FullServer } from "./full_server.ts";
import { metricReaches } from "./metric_wait.ts";
import { isInstalled } from "./programs.ts";
import { RunningIngest } from "./running_ingest.ts";

const ENCODINGS = {
  identity: (bytes: Uint8Array) => bytes,
  gzip: (bytes: Uint8Array) => gzipSync(bytes),
  deflate: (bytes: Uint8Array) => deflateSync(bytes),
  zstd: (bytes: Uint8Array) => zstdCompressSync(bytes),
  snappy: snappyBlock,
  "x-snappy-framed": (bytes: Uint8Array) => snappyFramed(bytes),
};

const ROWS = 50;
const LINES = Array.from({ length: ROWS }, (_, i) => `{"index":{}}\n{"message":"row ${i}"}\n`);

const absent = await isInstalled("curl") ? "" : " (ignored: curl is not installed)";

for (const [encoding, encode] of Object.entries(ENCODINGS)) {
  Deno.test({
    name:
      `curl with a body in ${encoding} is answered 503, tries again and stores each row once${absent}`,
    ignore: absent !== "",
    fn: async () => {
      await using ingest = await RunningIngest.start();
      const file = join(ingest.dataDir, "body");
      await Deno.writeFile(file, encode(new TextEncoder().encode(LINES.join(""))));
      const full = await FullServer.of(ingest);
      const curl = new Deno.Command("curl", {
        args: [
          ...["--silent", "--show-error", "--fail", "--retry", "5", "--max-time", "30"],
          ...["--header", "content-type: application/x-ndjson"],
          ...["--header", `content-encoding: ${encoding}`],
          ...["--data-binary", `@${file}`],
          `${ingest.url}/api/v1/_compat/web/_bulk`,
        ],
        stdout: "piped",
        stderr: "piped",
      }).output();
      await metricReaches(ingest, 'svc_ingest_requests_total{endpoint="bulk",status="503"}', 1);
      full[Symbol.dispose]();
      const { success, stdout, stderr } = await curl;
      assert.ok(success, new TextDecoder().decode(stderr));
      const reply = new TextDecoder().decode(stdout);
      assert.match(
        reply,
        /^\{"took":\d+,"errors":false,"items":\[\{"index":\{"_index":"web","_id":"/,
      );
      const rows = await ingest.rows();
      assert.deepEqual(
        rows.map((row) => row.columns.raw).sort(),
        Array.from({ length: ROWS }, (_, i) => `row ${i}`).sort(),
      );
      assert.ok(rows.every((row) => row.lane === "default/web"));
    },
  });
}
