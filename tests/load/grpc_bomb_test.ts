/** What a decompression bomb over gRPC makes an ingest server hold. */

import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { framed, grpcCall } from "../clients/grpc_call.ts";
import { RunningIngest } from "../clients/running_ingest.ts";

const MIB = 1024 * 1024;
const GZIP = { "grpc-encoding": "gzip" };

// The whole process is measured, which tests beside it would fill.
Deno.test({
  name: "Export of a bomb holds no more than the cap of it",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    const wire = framed(gzipSync(new Uint8Array(1024 * MIB)), true);
    await grpcCall(ingest.grpcTarget, { wire, metadata: GZIP });
    let peak = 0;
    const watch = setInterval(() => peak = Math.max(peak, Deno.memoryUsage().rss), 1);
    const before = Deno.memoryUsage().rss;
    for (let i = 0; i < 4; i++) await grpcCall(ingest.grpcTarget, { wire, metadata: GZIP });
    clearInterval(watch);
    assert.ok(peak - before < 200 * MIB, `${(peak - before) / MIB} MiB more at a time`);
  },
});
