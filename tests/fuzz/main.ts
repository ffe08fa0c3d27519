/**
 * The fuzzers for as long as one likes: `deno run --config tests/deno.json -A tests/fuzz/main.ts
 * --seconds 600 --seed 7`. Ends with status 1 at the first failure, which names its seed. With
 * `--body-bytes 16777216 --dense 1` every input is one of which few bytes mean much, as large as a
 * server takes by default.
 */

import { parseArgs } from "node:util";
import { BODY_CAP_BYTES } from "./fuzz_target.ts";
import { runRawFuzz } from "./raw_connections.ts";
import { runFuzz } from "./run_fuzz.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string" },
    "body-bytes": { type: "string", default: String(BODY_CAP_BYTES) },
    dense: { type: "string", default: "0.1" },
  },
});
const endMs = performance.now() + 1_000 * Number(values.seconds);
const write = (line: string) => Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`));

/**
 * Inputs are 1 MiB at most and inflate to 16 MiB: several hundred MiB are garbage on its way out.
 */
const RSS_BYTES_MAX = 1.5 * 1024 * 1024 * 1024;

let seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
for (; performance.now() < endMs; seed += 1) {
  const startMs = performance.now();
  const statuses = await runFuzz({
    seed,
    inputs: 20_000,
    msMax: endMs - startMs,
    bodyBytesMax: Number(values["body-bytes"]),
    denseShare: Number(values.dense),
  });
  const total = [...statuses.values()].reduce((sum, count) => sum + count, 0);
  const rate = Math.round(total / (performance.now() - startMs) * 1_000);
  const byStatus = [...statuses].sort(([a], [b]) => a - b).map((entry) => entry.join("×"));
  await runRawFuzz({ seed, connections: 500 });
  const { rss, heapUsed } = Deno.memoryUsage();
  const mib = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MiB`;
  if (rss > RSS_BYTES_MAX) throw new Error(`seed ${seed}: the process holds ${mib(rss)}`);
  write(
    `seed ${seed}: ${total} inputs, ${rate}/s, ${byStatus.join(" ")}; ` +
      `memory ${mib(rss)}, heap ${mib(heapUsed)}`,
  );
}
