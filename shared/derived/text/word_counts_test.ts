import assert from "node:assert/strict";
import { isOperatingError } from "../../base/errors.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { textPart } from "../../testing/text_part.ts";
import type { Minutes } from "../summary/minutes.ts";
import { collectWords } from "./collect_words.ts";
import { countWords, type Groups, type TextCounts } from "./count_words.ts";
import { tokenize } from "./tokenize.ts";
import { countedWords, encodeWordCounts, findWordRows, type WordCounts } from "./word_counts.ts";
import { encodeWordGroups, findWordGroups, type WordGroups } from "./word_groups.ts";

const ROWS = 3_000;
const SHIFT = 4;
const SEEDS = 4;
const SHAPES = [
  "login failed: user #",
  "Login-failed, login failed # failed",
  "user # failed login",
  "été 日本 #",
  "#",
  "",
];
const WORDS = ["login", "Failed", "a", "b", "été", "日", "17", "x y", "\u26a0\ufe0f", "कि"];

type Texts = readonly (string | null)[];

function makeTexts(random: SeededRandom): Texts {
  const pick = (list: readonly string[]) => list[random.below(list.length)] as string;
  return Array.from(
    { length: ROWS },
    () =>
      random.below(20) === 0
        ? null
        : pick(SHAPES).replaceAll("#", () =>
          random.chance(0.5) ? pick(WORDS) : `n${random.below(400)}`),
  );
}

/** Runs of rows of all lengths, with minutes without rows between them. */
function makeRuns(random: SeededRandom, count: number): Minutes {
  const starts = [0, ...new Set(Array.from({ length: count }, () => 1 + random.below(ROWS - 1)))];
  starts.sort((a, b) => a - b);
  let minute = -3;
  const minutes = starts.map(() => minute += 1 + random.below(3));
  return { minutes, starts: [...starts, ROWS] };
}

const LEVELS = [null, "INFO", "ERROR", "été"];
const HOSTS = [null, "a", "b"];

function makeGroups(random: SeededRandom, values: readonly (string | null)[]): Groups {
  return { ids: Uint16Array.from({ length: ROWS }, () => random.below(values.length)), values };
}

function countsOf(texts: Texts, runs: Minutes): WordCounts | undefined {
  return countedOf(texts, runs, [])?.counts;
}

function countedOf(
  texts: Texts,
  runs: Minutes,
  groups: readonly Groups[],
): TextCounts | undefined {
  const parts = [textPart(texts.slice(0, 700)), textPart(texts.slice(700))];
  const words = collectWords(parts, { shift: SHIFT, keepsSequence: true });
  assert.ok(words.sequence !== undefined);
  return countWords({ ...words, sequence: words.sequence }, {
    tellsRows: true,
    ...{ parts, shift: SHIFT, runs, groups },
  });
}

/** Rows from `from` to `end` that have the words side by side. */
function rowsWith(
  tokens: readonly (readonly string[])[],
  words: readonly string[],
  [from, end]: readonly [number, number],
): number {
  return tokens.slice(from, end)
    .filter((own) => own.some((_, at) => words.every((word, i) => own[at + i] === word))).length;
}

for (let seed = 0; seed < SEEDS; seed += 1) {
  Deno.test(`each counted word and pair has its rows, of all and of each minute: seed ${seed}`, () => {
    const random = new SeededRandom(seed);
    const texts = makeTexts(random);
    const runs = makeRuns(random, 1 + random.below(40));
    const counts = countsOf(texts, runs);
    assert.ok(counts !== undefined);
    const blob = encodeWordCounts(counts);
    const tokens = texts.map((text) => text === null ? [] : tokenize(text));
    const spans = runs.minutes.map((_, at) =>
      [runs.starts[at] as number, runs.starts[at + 1] as number] as const
    );
    const nulls = spans.map(([from, end]) =>
      texts.slice(from, end).filter((t) => t === null).length
    );
    const wordAt = (place: number) => (counts.entries[place] as { readonly word: string }).word;
    const named = counts.entries.map((entry) =>
      "word" in entry ? [entry.word] : entry.pair.map(wordAt)
    );
    assert.deepEqual(countedWords(blob, ROWS), named);
    let pairs = 0;
    named.forEach((words, place) => {
      pairs += words.length - 1;
      const found = findWordRows(blob, words, ROWS);
      assert.equal(found?.withWords, rowsWith(tokens, words, [0, ROWS]), words.join(" "));
      assert.equal(found.rows, ROWS);
      assert.equal(found.byMinute !== undefined, place < counts.timed);
      found.byMinute?.forEach(({ minute, rows, withWords, nulls: ownNulls }, at) => {
        const span = spans[at] as readonly [number, number];
        assert.deepEqual([minute, rows, ownNulls], [
          runs.minutes[at],
          span[1] - span[0],
          nulls[at],
        ]);
        assert.equal(withWords, rowsWith(tokens, words, span), `${words.join(" ")} at ${minute}`);
      });
    });
    assert.ok(pairs > 5, `${pairs} pairs`);
    for (const words of [["login"], ["login", "failed"], ["日", "本"]]) {
      assert.ok(findWordRows(blob, words, ROWS) !== undefined, words.join(" "));
    }
    for (const words of [["n17"], ["failed", "nobody"], ["log"], []]) {
      assert.equal(findWordRows(blob, words, ROWS), undefined, words.join(" "));
    }
  });
}

for (let seed = 0; seed < SEEDS; seed += 1) {
  Deno.test(`each counted word and pair has its rows of each minute and value: seed ${seed}`, () => {
    const random = new SeededRandom(seed);
    const texts = makeTexts(random);
    const runs = makeRuns(random, 16);
    const groups = [LEVELS, HOSTS].map((values) => makeGroups(random, values));
    const counted = countedOf(texts, runs, groups);
    assert.ok(counted !== undefined);
    assert.deepEqual(counted.counts, countsOf(texts, runs));
    for (const [at, { ids, values }] of groups.entries()) {
      const own: WordGroups | undefined = counted.groups[at];
      assert.ok(own !== undefined);
      const blobs: Record<"groups" | "counts", Uint8Array> = {
        groups: encodeWordGroups(own),
        counts: encodeWordCounts(counted.counts),
      };
      const tokens = texts.map((text) => text === null ? [] : tokenize(text));
      const tokensOf = values.map((_, id) => tokens.map((row, at) => ids[at] === id ? row : []));
      const { entries } = counted.counts;
      const wordAt = (place: number) => (entries[place] as { readonly word: string }).word;
      const { length } = own.entries;
      assert.ok(length > 15 && length < entries.length, `${length} of ${entries.length}`);
      entries.forEach((entry, place) => {
        const words = "word" in entry ? [entry.word] : entry.pair.map(wordAt);
        const found = findWordGroups(blobs, words, ROWS);
        const expected = runs.minutes.flatMap((minute, at) =>
          values.map((value, id) => {
            const span = [runs.starts[at] as number, runs.starts[at + 1] as number] as const;
            return { minute, value, rows: rowsWith(tokensOf[id] ?? [], words, span) };
          })
        ).filter(({ rows }) => rows > 0);
        assert.deepEqual(found, place < length ? expected : undefined, words.join(" "));
      });
      assert.ok(entries.slice(0, length).some((entry) => "pair" in entry));
      for (const words of [["n17"], ["failed", "nobody"], []]) {
        assert.equal(findWordGroups(blobs, words, ROWS), undefined, words.join(" "));
      }
    }
  });
}

Deno.test("the most frequent words have counts by minute where there are many minutes", () => {
  const texts = makeTexts(new SeededRandom(9));
  const starts = Array.from({ length: 101 }, (_, at) => at * ROWS / 100);
  const counts = countsOf(texts, { minutes: starts.slice(1).map((_, at) => at), starts });
  assert.ok(counts !== undefined && counts.timed > 0 && counts.timed < counts.entries.length);
  const rows = counts.entries.map((entry) => entry.rows);
  assert.deepEqual(rows, rows.toSorted((a, b) => b - a));
});

Deno.test("a text that may match what its words do not is not counted", () => {
  const texts = makeTexts(new SeededRandom(3)).with(5, "login e\u0301 failed");
  assert.equal(countsOf(texts, { minutes: [1], starts: [0, ROWS] }), undefined);
});

Deno.test("no damaged byte goes unseen", () => {
  const counts = countsOf(makeTexts(new SeededRandom(1)), { minutes: [1], starts: [0, ROWS] });
  assert.ok(counts !== undefined);
  const blob = encodeWordCounts(counts);
  for (let at = 0; at < blob.length; at += 1) {
    const damaged = blob.with(at, (blob[at] as number) ^ 1 << at % 8);
    assert.throws(
      () => findWordRows(damaged, ["login"], ROWS),
      (error) => isOperatingError(error, "corrupt"),
    );
  }
  assert.throws(() => findWordRows(blob, ["login"], ROWS - 1));
});

Deno.test("no damaged byte of counts by value goes unseen, nor counts of other words", () => {
  const random = new SeededRandom(1);
  const runs = { minutes: [1], starts: [0, ROWS] };
  const texts = makeTexts(random);
  const own = countedOf(texts, runs, [makeGroups(random, LEVELS)]);
  const other = countsOf(texts.toSpliced(0, 200, ...Array(200).fill("failed")), runs);
  assert.ok(own?.groups[0] !== undefined && other !== undefined);
  const [groups, counts] = [encodeWordGroups(own.groups[0]), encodeWordCounts(own.counts)];
  assert.ok(findWordGroups({ groups, counts }, ["failed"], ROWS) !== undefined);
  const refused = (blobs: { readonly groups: Uint8Array; readonly counts: Uint8Array }) =>
    assert.throws(
      () => findWordGroups(blobs, ["failed"], ROWS),
      (error) => isOperatingError(error, "corrupt"),
    );
  for (let at = 0; at < groups.length; at += 1) {
    refused({ groups: groups.with(at, (groups[at] as number) ^ 1 << at % 8), counts });
  }
  refused({ groups, counts: encodeWordCounts(other) });
  assert.throws(() => findWordGroups({ groups, counts }, ["failed"], ROWS - 1));
});
