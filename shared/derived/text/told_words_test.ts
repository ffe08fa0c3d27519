import assert from "node:assert/strict";
import { textOf, utf8 } from "../../base/bytes.ts";
import { isTold, isToldAt, isToldPart, mayBeTold, writeLetterRuns } from "./told_words.ts";

Deno.test("words with a digit are not told, whatever digits a script has, nor long ones", () => {
  assert.deepEqual(["error", "größe", "世", "a_b"].map(isTold), [true, true, true, true]);
  assert.deepEqual(["404", "v2", "x٣", "x".repeat(65)].map(isTold), [false, false, false, false]);
});

Deno.test("of other words runs of three letters are told, unless all are hexadecimal digits", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["ssh2", "~^ssh"],
    ["DFSClient_NONMAPREDUCE_16", "~^DFSClient~NONMAPREDUCE"],
    ["4ssh", "~ssh"],
    ["x".repeat(65), "~^" + "x".repeat(65)],
    ["größe2abz", "~abz"],
    ["deadbeef2", ""],
    ["DEAD16", ""],
    ["v2xy", ""],
  ];
  for (const [word, runs] of cases) {
    const bytes = utf8(`é${word}`);
    const place = { start: 2, end: bytes.length };
    const written = new Uint8Array(2 * bytes.length);
    const end = writeLetterRuns(bytes, place, written, 1);
    assert.equal(textOf(written.subarray(1, end)), runs, word);
    assert.equal(isToldAt(bytes, place.start, place.end), false, word);
    const mayBe = mayBeTold(bytes, place.start, place.end);
    assert(runs === "" || mayBe, word);
  }
});

Deno.test("a word is told at its place in bytes as by itself", () => {
  for (const word of ["error", "größe", "世", "a_b", "x٣", "404", "x".repeat(64), "é".repeat(64)]) {
    const bytes = utf8(`1${word}2`);
    assert.equal(isToldAt(bytes, 1, bytes.length - 1), isTold(word), word);
    assert(!isTold(word) || mayBeTold(bytes, 1, bytes.length - 1), word);
  }
  assert.equal(mayBeTold(utf8("deadbeef2"), 0, 9), false);
});

Deno.test("rows tell of a part of three letters, of which one is no hexadecimal digit", () => {
  assert.deepEqual(["efu", "EFU", "timeout"].map(isToldPart), [true, true, true]);
  const others = ["eu", "dead", "DEAD", "ti me", "s_h", "ssh2", "öxx", ""];
  assert.deepEqual(others.map(isToldPart), others.map(() => false));
});
