import assert from "node:assert/strict";
import { textOf, utf8 } from "../../base/bytes.ts";
import { tokenize, writtenTokens } from "./tokenize.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { textPart } from "../../testing/text_part.ts";
import { collectWords } from "./collect_words.ts";
import { mayBeTold } from "./told_words.ts";

const ROWS = 4_000;
const SEEDS = 3;
/** Lines that are mostly alike, and such as end within a word of another, or in its separators. */
const SHAPES = [
  "GET /a#/b from #.# in # ms",
  "get /a#",
  "GET /a#/b from #.# in # ms, OK)",
  "Get /a# From # in # MS",
  "#",
  "",
  " ",
  "été # GET /a",
];
/** The last ones make a text that is tokenized another way. */
const WORDS = [
  ...[
    "1",
    "1",
    "12",
    "X11",
    "x11",
    "_",
    "é",
    "É",
    "Éa",
    "éA",
    "日本",
    "Req",
    "REQ",
    "req",
    "a,",
    "",
    "request",
    "\u0010",
  ],
  ...["é \u26a0\ufe0f", "कि"],
];

const REPEATED = 100_000;
/** It took 5 s when the rest of the text was compared for each word. */
const REPEATED_MS_MAX = 3_000;

for (let seed = 0; seed < SEEDS; seed += 1) {
  Deno.test(`collectWords gives each row's words, in their order, as tokenize does, whatever came before: seed ${seed}`, () => {
    const random = new SeededRandom(seed);
    const pick = (list: readonly string[]) => list[random.below(list.length)] as string;
    const texts = Array.from(
      { length: ROWS },
      () => random.below(20) === 0 ? null : pick(SHAPES).replaceAll("#", () => pick(WORDS)),
    );
    const cut = random.below(ROWS);
    const { table, spellings, sequence } = collectWords([
      textPart(texts.slice(0, cut)),
      textPart(texts.slice(cut)),
    ], { shift: 4, keepsSequence: true });
    assert.ok(sequence !== undefined);
    const { places, variants } = sequence.variants;
    const spelled = spellings.words.map(({ bytes, start, end }) =>
      textOf(bytes.subarray(start, end))
    );
    assert.deepEqual(places, places.toSorted());
    const written = new Map(
      places.entries().map(([at, place]) => [
        place,
        spelled[variants[at] as number] ?? "",
      ]),
    );
    assert(written.size > 100);
    let from = 0;
    texts.forEach((text, row) => {
      const end = sequence.rowEnds[row] as number;
      const words = Array.from(
        sequence.terms.subarray(from, end),
        (term) => textOf(table.bytes.subarray(table.startOf(term), table.endOf(term))),
      );
      assert.deepEqual(words, text === null ? [] : tokenize(text), `row ${row}: ${text}`);
      const told = (word: string) => {
        const bytes = utf8(word);
        return mayBeTold(bytes, 0, bytes.length) ? word : word.toLowerCase();
      };
      assert.deepEqual(
        words.map((word, at) => told(written.get(from + at) ?? word)),
        text === null ? [] : writtenTokens(text).map(told),
        `row ${row}: ${text}`,
      );
      from = end;
    });
  });
}

Deno.test("collectWords reads a text that repeats one word, or two, once", () => {
  for (const [phrase, words] of [["yx ", 1], ["yx b ", 2]] as const) {
    const startMs = performance.now();
    const { sequence } = collectWords([textPart([phrase.repeat(REPEATED)])], {
      shift: 4,
      keepsSequence: true,
    });
    assert.ok(performance.now() - startMs < REPEATED_MS_MAX, phrase);
    assert.deepEqual(
      sequence?.terms,
      Uint32Array.from({ length: words * REPEATED }, (_, at) => at % words),
    );
  }
});
