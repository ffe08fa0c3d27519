import { strict as assert } from "node:assert";
import { clipToWidth, displayWidth, printable } from "./display_width.ts";

Deno.test({
  name: "displayWidth counts terminal columns by grapheme",
  fn() {
    const cases: [string, number][] = [
      ["", 0],
      ["abc", 3],
      ["é", 1],
      ["e\u0301", 1],
      ["漢字", 4],
      ["ｶﾅ", 2], // half-width katakana
      ["ＡＢ", 4], // full-width latin
      ["한글", 4],
      ["👍", 2],
      ["👍🏽", 2], // with skin tone
      ["👨‍👩‍👧", 2], // joined family
      ["🇯🇵", 2], // regional indicator pair
      ["✔", 1],
      ["✔\ufe0f", 2], // asked for as emoji
      ["\u200b", 0], // zero-width space
      ["नि", 1], // consonant with vowel sign
      ["…", 1],
    ];
    for (const [text, width] of cases) {
      assert.equal(displayWidth(text), width, JSON.stringify(text));
    }
  },
});

Deno.test({
  name: "clipToWidth keeps what fits and never half a character",
  fn() {
    const cases: [string, number, string][] = [
      ["abc", 3, "abc"],
      ["abcd", 3, "ab…"],
      ["漢字かな", 8, "漢字かな"],
      ["漢字かな", 7, "漢字か…"],
      ["漢字かな", 6, "漢字…"], // five columns: a sixth would need half of the next one
      ["👨‍👩‍👧👨‍👩‍👧", 3, "👨‍👩‍👧…"],
      ["e\u0301e\u0301e\u0301", 2, "e\u0301…"],
      ["abc", 1, "…"],
    ];
    for (const [text, width, clipped] of cases) {
      assert.equal(clipToWidth(text, width), clipped);
    }
  },
});

Deno.test({
  name: "printable writes what a terminal would obey as escapes",
  fn() {
    const cases: [string, string][] = [
      ["plain ünïcode 漢", "plain ünïcode 漢"],
      ["a\nb\r\n\tc", "a\\nb\\r\\n\\tc"],
      ["\x1b[2J\x07", "\\x1b[2J\\x07"],
      ["\x7f\x9b1m", "\\x7f\\x9b1m"],
      ["a\u202eb\u2066c\u2028", "a\\u202eb\\u2066c\\u2028"],
      ["\ud800x", "\ufffdx"],
    ];
    for (const [text, shown] of cases) assert.equal(printable(text), shown);
  },
});
