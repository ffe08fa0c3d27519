import assert from "node:assert/strict";
import { concatBytes, textOf, utf8 } from "../../base/bytes.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { EscapedTexts } from "./escaped_texts.ts";

/** Returns what `JSON.stringify` gives, which has other letters for the digits of controls. */
function expected(text: string): string {
  return JSON.stringify(text).slice(1, -1)
    .replaceAll(/\\u00[01][0-9a-f]/g, (digits) => `\\u${digits.slice(2).toUpperCase()}`);
}

function escapedAlone(text: string): string {
  const escaped = new EscapedTexts();
  escaped.one(utf8(text));
  return textOf(escaped.bytes.subarray(0, escaped.ends[0]));
}

Deno.test("EscapedTexts escapes each byte as JSON does, wherever it is", () => {
  for (let code = 0; code < 0x100; code += 1) {
    for (let before = 0; before < 20; before += 1) {
      for (const behind of [0, 1, 7, 8, 17]) {
        const text = `${"a".repeat(before)}${String.fromCharCode(code)}${"é".repeat(behind)}`;
        assert.equal(escapedAlone(text), expected(text));
      }
    }
  }
});

Deno.test("EscapedTexts escapes what is longer than its memory", () => {
  for (const length of [60_000, 75_000, 400_000]) {
    for (const unit of ["\u0001", '"', "a", "é\\"]) {
      const text = unit.repeat(length / unit.length);
      assert.ok(escapedAlone(text) === expected(text), `${length} of ${unit}`);
    }
  }
});

Deno.test("EscapedTexts escapes a text and others near it, before or behind", () => {
  const random = new SeededRandom(3);
  const units = ["a", '"', "\\", "\n", "\u0000", "é", "😀", "\u007f"];
  const texts = Array.from({ length: 700 }, () => {
    const length = random.chance(0.02) ? random.below(40_000) : random.below(60);
    return Array.from({ length }, () => units[random.below(units.length)]).join("");
  });
  const parts = texts.map(utf8);
  const bytes = concatBytes(parts);
  const starts = new Int32Array(texts.length + 1);
  parts.forEach(({ length }, at) => starts[at + 1] = (starts[at] as number) + length);
  const ends = starts.subarray(1);
  const all = { kind: "texts", count: texts.length, bytes, starts, ends } as const;
  for (const isBefore of [true, false]) {
    const escaped = new EscapedTexts();
    for (let round = 0; round < 50; round += 1) {
      const place = random.below(texts.length);
      escaped.around(place, { ...all, isBefore });
      assert.ok(escaped.first <= place && place < escaped.end);
      assert.equal(isBefore ? escaped.end - 1 : escaped.first, place);
      let start = 0;
      for (let at = escaped.first; at < escaped.end; at += 1) {
        const end = escaped.ends[at - escaped.first] as number;
        assert.equal(textOf(escaped.bytes.subarray(start, end)), expected(texts[at] ?? ""));
        start = end;
      }
    }
  }
});
