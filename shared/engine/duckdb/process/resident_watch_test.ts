import { strictEqual } from "node:assert/strict";
import { RESIDENT_HEADROOM_BYTES_MIN, RESIDENT_MS_MAX } from "../../limits.ts";
import { headroomBytesFor, ResidentWatch } from "./resident_watch.ts";

const MAX = 100;
const END = 200;

const CASES: Readonly<Record<string, readonly (readonly [bytes: number, ms: number, string])[]>> = {
  "is fine up to its bound": [[MAX, 0, "fine"], [MAX, 1e6, "fine"]],
  "interrupts once, and ends what did not help": [
    [MAX + 1, 0, "interrupt"],
    [MAX + 1, RESIDENT_MS_MAX, "fine"],
    [MAX + 1, RESIDENT_MS_MAX + 1, "end"],
  ],
  "begins anew once it has helped": [
    [MAX + 1, 0, "interrupt"],
    [MAX, 500, "fine"],
    [MAX + 1, 5_000, "interrupt"],
  ],
  "ends at once what has no time": [[END, 0, "interrupt"], [END + 1, 1, "end"]],
};

for (const [what, steps] of Object.entries(CASES)) {
  Deno.test({
    name: `ResidentWatch ${what}`,
    fn: () => {
      const watch = new ResidentWatch({ bytesMax: MAX, bytesEnd: END });
      for (const [bytes, ms, verdict] of steps) strictEqual(watch.judge(bytes, ms), verdict);
    },
  });
}

Deno.test({
  name: "headroomBytesFor is a part of the pool, and enough for a small one",
  fn: () => {
    strictEqual(headroomBytesFor(1), RESIDENT_HEADROOM_BYTES_MIN);
    strictEqual(headroomBytesFor(64 * 2 ** 30), 16 * 2 ** 30);
  },
});
