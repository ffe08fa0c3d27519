/**
 * A few seconds of the fuzzers. A failure names its seed; `SVC_TEST_FUZZ_SEED` repeats it, and
 * `main.ts` goes on for longer.
 */

import assert from "node:assert/strict";
import { runRawCases, runRawFuzz } from "./raw_connections.ts";
import { runFuzz } from "./run_fuzz.ts";

const seed = Number(Deno.env.get("SVC_TEST_FUZZ_SEED") ?? Math.floor(Math.random() * 1_000_000));

Deno.test({
  name: "HTTP handlers treat every damaged request as specified, and serve on",
  async fn() {
    const statuses = await runFuzz({ seed, inputs: 3_000, msMax: 6_000 });
    // Neither all nor none may be refused, or the fuzzer has lost its aim.
    const total = [...statuses.values()].reduce((sum, count) => sum + count, 0);
    const accepted = statuses.get(200) ?? 0;
    assert.ok(accepted > total / 20 && accepted < total / 2, `${accepted} of ${total} accepted`);
  },
});

Deno.test({
  name: "listeners end connections with framing that lies, store nothing of them, and serve on",
  fn: runRawCases,
});

Deno.test({
  name: "listeners end damaged connections, HTTP and gRPC, and serve on",
  fn: () => runRawFuzz({ seed, connections: 200 }),
});
