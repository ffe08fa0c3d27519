/** `svc gen`: synthetic events, one JSON object a line, as `svc ingest` takes them. */

import { UsageError } from "../../shared/base/errors.ts";
import { NS_PER_MS, parseRfc3339Ns } from "../../shared/base/time.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { defineCommand } from "../command.ts";
import { MEAN_STEP_MS, syntheticEvents, toNdjson } from "../synthetic_events.ts";

const OPTIONS = {
  n: {
    kind: "integer",
    flag: "n",
    placeholder: "N",
    default: 100,
    min: 0,
    max: 1_000_000_000,
    help: "How many events.",
  },
  seed: {
    kind: "integer",
    flag: "seed",
    placeholder: "SEED",
    min: 0,
    max: 2 ** 32 - 1,
    help: "Seed of the random events: the same seed and --start give the same events. Random " +
      "when absent.",
  },
  start: {
    kind: "text",
    flag: "start",
    placeholder: "RFC3339",
    help: "Time of the first event. When absent, it is chosen so that the last event is about " +
      "now.",
  },
} as const satisfies OptionTable;

/** Lines are written together in texts of about this many characters. */
const CHUNK_CHARS = 64 * 1024;

export const command = defineCommand({
  options: OPTIONS,
  async run({ n, seed, start }, { console }) {
    const events = syntheticEvents({
      seed: seed ?? Math.floor(new SystemRandom().float() * 2 ** 32),
      firstNs: start === undefined ? firstBeforeNow(n) : instant(start),
    });
    let chunk = "";
    for (let made = 0; made < n; made++) {
      chunk += `${toNdjson(events.next().value)}\n`;
      if (chunk.length < CHUNK_CHARS) continue;
      await console.output.write(chunk);
      chunk = "";
    }
    await console.output.write(chunk);
  },
});

function firstBeforeNow(n: number): bigint {
  return new SystemClock().nowNs() - BigInt(n * MEAN_STEP_MS) * NS_PER_MS;
}

function instant(text: string): bigint {
  const ns = parseRfc3339Ns(text);
  if (ns !== undefined) return ns;
  throw new UsageError(
    `Cannot take --start ${JSON.stringify(text)}: give RFC 3339, for example 2026-01-31T12:00:00Z`,
  );
}
