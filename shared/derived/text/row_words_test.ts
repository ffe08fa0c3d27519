import assert from "node:assert/strict";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { type Member, memberOf, memberText, rowWords, setText } from "./row_words.ts";

const NEVER = () => false;
const LENGTH_MAX = 100_000;
const NOTHING = new Uint32Array();
const NONE = { places: NOTHING, things: NOTHING, memberOf: NOTHING };

/** Rows by their things, where thing n is member n. */
function thingsOf(rows: readonly (readonly number[])[], members: number) {
  const ends: number[] = [];
  for (const row of rows) ends.push((ends.at(-1) ?? 0) + row.length);
  const memberOf = Uint32Array.from({ length: members }, (_, member) => member + 1);
  return { things: Uint32Array.from(rows.flat()), ends: Uint32Array.from(ends), memberOf };
}

/** The sets of rows by their words, where thing n is member n. */
function told(
  rows: readonly (readonly number[])[],
  members: readonly Member[],
  { others = NONE, isNull = NEVER, pairs }: {
    readonly others?: typeof NONE;
    readonly isNull?: (row: number) => boolean;
    readonly pairs?: readonly (readonly number[])[];
  } = {},
) {
  const words = thingsOf(rows, members.length);
  const own = thingsOf(pairs ?? rows.map(() => []), members.length);
  return rowWords(
    { ...words, others },
    { ...own, things: Uint16Array.from(own.things) },
    { members, isNull, lengthMax: LENGTH_MAX },
  );
}

function wordsNamed(...words: readonly string[]): readonly Member[] {
  return words.map((word) => memberOf([word]));
}

Deno.test("a row has its words once, in whatever order they stand, and NULL has none", () => {
  const members = wordsNamed("error", "by", "of");
  const rows = [[0, 1, 0], [1, 0], [], [], [2, 0], [0]];
  assert.deepEqual(told(rows, members, { isNull: (row) => row === 5 }), {
    ids: Uint16Array.of(1, 1, 2, 2, 3, 0),
    sets: ["|error|by|", "|", "|error|of|"],
  });
});

Deno.test("a place that is another member than its thing, or none, is that in its row alone", () => {
  const members = wordsNamed("error", "Error");
  const others = {
    places: Uint32Array.of(1, 3, 4),
    things: Uint32Array.of(0, 0, 1),
    memberOf: Uint32Array.of(2, 0),
  };
  assert.deepEqual(told([[0], [0, 0], [0], [0], [0]], members, { others }), {
    ids: Uint16Array.of(1, 2, 3, 4, 1),
    sets: ["|error|", "|error|Error|", "|Error|", "|"],
  });
});

Deno.test("a set has words, then pairs, then runs, and tells no part of one as a part of another", () => {
  const run: Member = { delimiter: "~", text: "ssh~blk" };
  const pair = memberOf(["refused", "by"]);
  assert.match(pair.text, /^[0-9a-f]{8}$/);
  const set = setText([run, pair, ...wordsNamed("Refused", "by")]);
  assert.equal(set, `|Refused|by|#${pair.text}#~ssh~blk~`);
  assert(set.includes(memberText(pair)) && set.includes(memberText(memberOf(["by"]))));
  assert(!set.includes(memberText(memberOf(["ssh"]))));
  assert.equal(setText([run]), "|~ssh~blk~");
  assert.equal(setText([]), "|");
});

Deno.test("each row's set has just its words and pairs, for rows by chance", () => {
  const random = new SeededRandom(12);
  const pairs = Array.from({ length: 9 }, (_, n) => memberOf(["a", `b${n}`]));
  const members = [...wordsNamed(...Array.from({ length: 40 }, (_, n) => `w${n}`)), ...pairs];
  const rows = Array.from({ length: 3_000 }, () => ({
    words: Array.from({ length: random.below(6) }, () => random.below(40)),
    pairs: pairs.keys().filter(() => random.chance(0.1)).map((pair) => 40 + pair).toArray(),
  }));
  const found = told(rows.map(({ words }) => words), members, {
    pairs: rows.map(({ pairs }) => pairs),
  });
  assert(found !== undefined && found.sets.length > 100);
  for (const [at, row] of rows.entries()) {
    const set = found.sets[(found.ids[at] as number) - 1] as string;
    const own = [...new Set([...row.words, ...row.pairs])].map((member) => members[member]?.text);
    assert.deepEqual(set.split(/[|#]/).filter((text) => text !== "").sort(), own.sort());
  }
  assert.equal(new Set(found.sets).size, found.sets.length);
});

Deno.test("there is no column of more than 4,096 sets, nor of longer ones than are wanted", () => {
  const sets = (count: number, words: readonly string[]) => {
    const rows = Array.from({ length: count }, (_, n) => [n % 100, 100 + Math.floor(n / 100)]);
    return told(rows, wordsNamed(...words))?.sets.length;
  };
  const words = Array.from({ length: 200 }, (_, n) => `word${n}`);
  assert.equal(sets(4_096, words), 4_096);
  assert.equal(sets(4_097, words), undefined);
  assert.equal(sets(1_000, words.map((word) => word.padEnd(300, "x"))), undefined);
});
