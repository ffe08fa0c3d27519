import { strictEqual } from "node:assert/strict";
import { bytesText } from "./bytes_text.ts";
import { durationText, shareText } from "./number_text.ts";
import { agoText, timeText } from "./time_text.ts";

const BYTES: readonly (readonly [number, string])[] = [
  [0, "0 B"],
  [1_023, "1023 B"],
  [1_024, "1.0 KiB"],
  [10_240, "10 KiB"],
  [1_048_575, "1.0 MiB"],
  [1_500_000_000, "1.4 GiB"],
  [2 ** 60, "1024 PiB"],
];
const DURATIONS: readonly (readonly [number, string])[] = [
  [0, "0 ms"],
  [0.0004, "0.4 µs"],
  [0.64, "640 µs"],
  [9.96, "10 ms"],
  [999.7, "1 s"],
  [3_412, "3.4 s"],
  [59_970, "1 min"],
  [125_000, "2 min 5 s"],
  [3_599_900, "1 h"],
  [12_000_000, "3 h 20 min"],
  [-352_800_000, "-4 d 2 h"],
];

Deno.test({
  name: "bytesText and durationText have few digits and the unit that fits",
  fn() {
    for (const [value, text] of BYTES) strictEqual(bytesText(value), text);
    for (const [value, text] of DURATIONS) strictEqual(durationText(value), text);
  },
});

Deno.test({
  name: "shareText shows that a small share is no 0",
  fn() {
    strictEqual(shareText(0.083), "8.3%");
    strictEqual(shareText(0.000_01), "<0.1%");
    strictEqual(shareText(0), "0%");
  },
});

Deno.test({
  name: "agoText tells one unit, and timeText has a fixed width",
  fn() {
    const nowMs = 1_795_132_800_000;
    strictEqual(agoText(nowMs - 400, nowMs), "now");
    strictEqual(agoText(nowMs - 200_000, nowMs), "3 min ago");
    strictEqual(agoText(nowMs + 7_300_000, nowMs), "in 2 h");
    strictEqual(agoText(nowMs - 40 * 86_400_000, nowMs), "40 d ago");
    strictEqual(timeText(nowMs).length, timeText(1).length);
  },
});
