import assert from "node:assert/strict";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { isTold, memberText, rowWords } from "./row_words.ts";

const NEVER = () => false;

/** Rows by their things. */
function thingsOf(rows: readonly (readonly number[])[]) {
  const ends: number[] = [];
  for (const row of rows) ends.push((ends.at(-1) ?? 0) + row.length);
  return { things: Uint16Array.from(rows.flat()), ends: Uint32Array.from(ends) };
}

Deno.test("a row has the words that are told, in whatever order they stand, and NULL has none", () => {
  const texts = ["error", undefined, "by", "error by"];
  const rows = thingsOf([[0, 1, 3], [3, 0], [1], [], [2, 0], [0]]);
  assert.deepEqual(rowWords(rows, texts, (row) => row === 5), {
    ids: Uint16Array.of(1, 1, 2, 2, 3, 0),
    sets: ["|error|error by|", "|", "|error|by|"],
  });
});

Deno.test("things that came after those with a text are not told", () => {
  const found = rowWords(thingsOf([[0, 7], [7]]), ["x"], NEVER);
  assert.deepEqual(found, { ids: Uint16Array.of(1, 2), sets: ["|x|", "|"] });
});

Deno.test("each row's set has just its words, for rows by chance", () => {
  const random = new SeededRandom(12);
  const texts = Array.from({ length: 40 }, (_, n) => n % 5 === 4 ? undefined : `w${n}`);
  const rows = Array.from({ length: 3_000 }, () => {
    const all = Array.from({ length: random.below(6) }, () => random.below(texts.length));
    return [...new Set(all)];
  });
  const found = rowWords(thingsOf(rows), texts, NEVER);
  assert(found !== undefined && found.sets.length > 100);
  for (const [at, row] of rows.entries()) {
    const set = found.sets[(found.ids[at] as number) - 1] as string;
    const words = row.map((thing) => texts[thing]).filter((text) => text !== undefined);
    assert.deepEqual(set.split("|").filter((word) => word !== "").sort(), words.sort());
    assert(words.every((word) => set.includes(memberText([word]))));
  }
  assert.equal(new Set(found.sets).size, found.sets.length);
});

Deno.test("there is no column of more than 4,096 sets, nor of long ones", () => {
  const texts = Array.from({ length: 200 }, (_, n) => `word ${n}`);
  const pairs = (sets: number) =>
    Array.from({ length: sets }, (_, n) => [n % 100, 100 + Math.floor(n / 100)]);
  assert.equal(rowWords(thingsOf(pairs(4_096)), texts, NEVER)?.sets.length, 4_096);
  assert.equal(rowWords(thingsOf(pairs(4_097)), texts, NEVER), undefined);
  const long = texts.map((text) => text.padEnd(300));
  assert.equal(rowWords(thingsOf(pairs(1_000)), long, NEVER), undefined);
});

Deno.test("words with a digit are not told, whatever digits a script has", () => {
  assert.deepEqual(["error", "größe", "世", "a_b"].map(isTold), [true, true, true, true]);
  assert.deepEqual(["404", "v2", "x٣"].map(isTold), [false, false, false]);
});
