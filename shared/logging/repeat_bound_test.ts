import assert from "node:assert/strict";
import type { LogRecord } from "@logtape/logtape";
import { formatRecord } from "./logging.ts";
import { boundRepeats, REPEATS_MAX } from "./repeat_bound.ts";

Deno.test({
  name:
    "boundRepeats writes the first of a minute's repeated failures, counts the others, and keeps all else",
  fn() {
    const lines: string[] = [];
    const sink = boundRepeats((record) => void lines.push(formatRecord(record).slice(25)));
    for (let lane = 0; lane < 500; lane += 1) {
      sink(recordOf("error", "cannot drain lane {lane}", lane));
      sink(recordOf("info", "looked at lane {lane}", lane));
    }
    sink(recordOf("warning", "the disk of lane {lane} is slow", 7));
    const told = lines.filter((line) => !line.startsWith("INF"));
    assert.equal(lines.length - told.length, 500);
    assert.equal(told.length, REPEATS_MAX + 1);
    assert.equal(told[0], "ERR test cannot drain lane 0");
    assert.equal(told.at(-1), "WRN test the disk of lane 7 is slow");
    lines.length = 0;
    sink[Symbol.dispose]();
    assert.deepEqual(lines, [
      `ERR test ${500 - REPEATS_MAX} more lines of this minute are left out that say: ` +
      "cannot drain lane {lane}",
    ]);
    sink(recordOf("error", "cannot drain lane {lane}", 1));
    assert.equal(lines.at(-1), "ERR test cannot drain lane 1");
    sink[Symbol.dispose]();
    assert.equal(lines.length, 2);
  },
});

function recordOf(level: LogRecord["level"], rawMessage: string, lane: number): LogRecord {
  const [before = "", after = ""] = rawMessage.split("{lane}");
  return {
    category: ["svc", "test"],
    level,
    rawMessage,
    message: [before, lane, after],
    properties: { lane },
    timestamp: 0,
  };
}
