import assert from "node:assert/strict";
import { present } from "../../base/assert.ts";
import { batchOfRows, type RowObject } from "../../columns/rows.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { tokenize } from "../text/tokenize.ts";
import { blobsOfRows, hasRow, indexedRows } from "../../testing/indexed_rows.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { collectWords } from "../text/collect_words.ts";
import {
  HEADER_BYTES_PROPERTY,
  MIXED_WORDS_TYPE,
  UNCODED_WORDS_TYPE,
  WORDS_TYPE,
} from "../text/words_format.ts";
import { writeWords } from "../text/write_words.ts";
import { findRows } from "./find_rows.ts";
import type { RowQuery, RowSet, TermsQuery } from "./row_query.ts";

const SEEDS = Number(Deno.env.get("SVC_INDEX_SEEDS") ?? 8);

const WORDS = [
  ..."a b 7 42 é ß ж İ K Å 漢 字 か ナ ไ ท 한 국 𐐀 𝒳 ﬁ ǅ Σ".split(" "),
  ..."error timeout connection refused GET user_id 10 0 blk_3865 deadbeef 4f3a9bc1".split(" "),
  ..."École e\u0301cole \u0301 \u1100\u1161 x\u0327\u0301 Straße ΣΊΣΥΦΟΣ ไทย 接続 \u1c89a \u{10d50}b"
    .split(" "),
  "3b241101-e2bb-4255-8caf-4136c566a962",
  "0123456789abcdef".repeat(5),
  "x".repeat(63),
  "x".repeat(64),
  "x".repeat(65),
];
const GAPS = [" ", " ", " ", "", "-", ".", "/", "=", "\u3000", "\n", "🙂", "\u0338", "<"];

class TextSource {
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** A text of up to `wordsMax` words. */
  text(wordsMax: number): string {
    let text = "";
    for (let words = this.#random.below(wordsMax + 1); words > 0; words -= 1) {
      text += this.word() + this.one(GAPS);
    }
    return text;
  }

  word(): string {
    if (this.#random.chance(0.7)) return this.one(WORDS);
    if (this.#random.chance(0.5)) return this.#random.below(1e9).toString(16);
    const codePoint = this.#random.below(this.#random.chance(0.8) ? 0x3000 : 0x30000);
    return codePoint >= 0xd800 && codePoint < 0xe000 ? "" : String.fromCodePoint(codePoint);
  }

  /** A piece of one of the texts, or one that is in none. */
  piece(texts: readonly (string | null)[]): string {
    const letters = [...(this.one(texts) ?? "")];
    if (letters.length === 0 || this.#random.chance(0.1)) return this.text(2);
    const start = this.#random.below(letters.length);
    return letters.slice(start, start + 1 + this.#random.below(30)).join("");
  }

  one<T>(values: readonly T[]): T {
    return values[this.#random.below(values.length)] as T;
  }
}

function eventRow(n: number, columns: Partial<Record<string, string | null>>): RowObject {
  return {
    timestamp: BigInt(n),
    timestamp_ns: BigInt(n) * 1_000n,
    host: "h",
    source: "s",
    sourcetype: "t",
    index: "main",
    raw: "",
    ...columns,
  };
}

/** What the four functions are by their definition. */
function matches(text: string, { mode, text: terms }: Pick<TermsQuery, "mode" | "text">): boolean {
  const [tokens, wanted] = [tokenize(text), tokenize(terms)];
  if (wanted.length === 0) return false;
  if (mode === "all") return wanted.every((term) => tokens.includes(term));
  if (mode === "any") return wanted.some((term) => tokens.includes(term));
  return tokens.some((_, at) =>
    wanted.every((term, i) => {
      const token = tokens[at + i];
      if (mode === "prefix" && i === wanted.length - 1) return token?.startsWith(term) === true;
      return token === term;
    })
  );
}

function lower(text: string): string {
  return [...text].map((letter) => letter.toLowerCase()).join("");
}

Deno.test("findRows finds each row that matches, for random texts of every script", async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const random = new SeededRandom(seed);
    const source = new TextSource(random);
    const rows = Array.from(
      { length: 1 + random.below(300) },
      (_, n) => eventRow(n, { raw: source.text(random.chance(0.1) ? 60 : 6) }),
    );
    const raws = rows.map((row) => String(row["raw"]));
    const file = indexedRows(
      EVENTS_SCHEMA,
      rows.length,
      blobsOfRows(EVENTS_SCHEMA, rows, { batchRows: 1 + random.below(100) }),
    );
    const assertHolds = async (query: RowQuery, holds: (row: number) => boolean) => {
      const set = await findRows(query, file);
      assertWellFormed(set);
      for (let row = 0; row < rows.length; row += 1) {
        if (!holds(row) || hasRow(set, row)) continue;
        assert.fail(`seed ${seed}: ${JSON.stringify(query)} loses ${JSON.stringify(raws[row])}`);
      }
    };
    for (let round = 0; round < 30; round += 1) {
      const text = source.piece(raws);
      for (const mode of ["all", "any", "phrase", "prefix"] as const) {
        const query = { kind: "terms", column: "raw", mode, text } as const;
        await assertHolds(query, (row) => matches(raws[row] as string, query));
      }
      for (const ignoreCase of [false, true]) {
        await assertHolds({ kind: "substring", column: "raw", text, ignoreCase }, (row) => {
          const raw = raws[row] as string;
          return ignoreCase ? lower(raw).includes(lower(text)) : raw.includes(text);
        });
      }
      const values = [source.one(raws), text];
      await assertHolds(
        { kind: "equals", column: "raw", values },
        (row) => values.includes(raws[row] as string),
      );
    }
    assert.deepEqual(file.damages, []);
  }
});

const WORDS_BEFORE =
  "RpEAGwQKUEABFAABATBjhsFA/FL6AURjYEACjHBALpOBgUHAQMBQ0EDQUNBI0FjQRNBU0EzQXNBC0FLACKuoMVZRE6yiplhFzbCKmmMVtRCwdMjJzEtVyE8DAEmS" +
  "JEkiSZIkSZK0bdu2bdtGkiRJkiQJgnR/SGNgwAU4cMpQBzgQkKeP/QA=";

/** The words of 80 rows "line n of m id h", m being n % 20, and h eight digits of each n. */
const MIXED_WORDS =
  "ZfMTngQMUOgHAb0CAAEBML4D6gVl2aMBlAX+AqWPPYgUMRiG52lsrjApFO3uHRDvQDCz87NZUPzpRAQLZbG7ucwEFlwPRAsbEatrrhCxtLARCwsrGxsRQcRKsNbO" +
  "Vs9SG8ncuohc50u+QMjzPV+SkZJlWaq0pQWp/so/x/++z/bv2idZlhknxxWVnFbDijxPFLhkCutskbfcsiNb2srWueOVbew4L3hovZ2o5ZM6dhSZm1GiE5lX3El0" +
  "Iq3PN3lqJwocVc9tUw5Oz/c9Z95zPJF55EOiB+e6AncVWTHV0jni2vCCiqsL74TXdqKeF6YenA1HBtJzYG963nNo6XyrwLYix0zzxzn4RpxZ+DzvB3KujqkZLyc3" +
  "PFr4AlsD2XFx+NFPRZ4br4Jd1bxTy5o65oo8NhOV/FDDOXm+KHBTPbuuLdhQxWGNmarloCIn3GbJtmruyfNNgV/q+exCwY4avqrlgQJTRWauK7msmvvyfFTLhnpe" +
  "ur5gXSXP1HBSgQuKrLlYcEo1vTxjtZxXx5vVWXf2+uxGv7oVfwMAEKEMYpJkSZKESCSJUiQNkiRKkLZl24Zt2sZs20iRJCGSDMmRoJiFEDOIWAYxEyFmELMMYgaL" +
  "11okJZGxbhtBDEQfF6sDlYonqLh0NGIESSqVLonDwXCh9CmFfAntpFA6IZVLF/mIlFfkwwJKW3CXg5kBd4j5F0AxG79v2rKbVphJq1pHJbBn4Anm49MZ99P+D7DF" +
  "BiZFpV80UlSBoJeom9Rlx6oNQdPruWnwl4Y9IpTpY74rfFJZcOuShhjp/qYQKmZ5KUd1kjZrW2AF/DebEkbHsUHgrlrR1fHkFfq3z0pygJcdsDc+uHfWFLKYwJzx" +
  "I+jhLZrCx6vDPefjIq58gm3GUsxLp7nzNmRnk8Iu73m2FtO5wSKmDdnCKJbsjHx4QUObp9OzDGTuM4K3oSKCfk0p9ocJ5xbZdaL6VHCXzUH/FaZDwR4HWWlWY2I8" +
  "3DZDiUvegIxGfB1/njp+M1Rk3PDKiXB6j0ED4vw+GUv0qxjTfw==";

function assertWellFormed(set: RowSet): void {
  if (set.kind !== "rows" && set.kind !== "groups") return;
  const numbers = set.kind === "rows" ? set.rows : set.groups;
  assert.ok(numbers.length > 0);
  assert.ok(numbers.every((number, at) => at === 0 || number > (numbers[at - 1] as number)));
}

Deno.test("findRows of one word leaves just the granules that have it, but for words of most of them", async () => {
  const rows = Array.from(
    { length: 3_000 },
    (_, n) =>
      eventRow(n, { raw: `line ${n} of ${n % 50} ${(n * 2_654_435_761 >>> 0).toString(16)}` }),
  );
  const raws = rows.map((row) => String(row["raw"]));
  const shift = 4;
  const parts = [{ rows: rows.length, data: present(batchOfRows(EVENTS_SCHEMA, rows).columns[6]) }];
  const words = collectWords(parts, { shift, keepsSequence: false });
  const written = writeWords(words, {
    rows: rows.length,
    rowGroupRows: 1_000,
    shift,
    bytesWanted: Infinity,
  });
  const file = indexedRows(EVENTS_SCHEMA, rows.length, [{
    type: WORDS_TYPE,
    fields: [7],
    data: written.bytes,
    properties: { [HEADER_BYTES_PROPERTY]: String(written.headerBytes) },
  }]);
  for (const [row, raw] of raws.entries()) {
    if (row % 37 !== 0) continue;
    for (const text of tokenize(raw)) {
      const set = await findRows({ kind: "terms", column: "raw", mode: "all", text }, file);
      if (set.kind === "all") continue;
      assert.ok(set.kind === "rows");
      const granules = new Set([...set.rows].map((found) => found >> shift));
      const wanted = raws.flatMap((one, at) => tokenize(one).includes(text) ? [at >> shift] : []);
      assert.deepEqual([...granules], [...new Set(wanted)], text);
    }
  }
  const everywhere = { kind: "terms", column: "raw", mode: "all", text: "line" } as const;
  assert.deepEqual(await findRows(everywhere, file), { kind: "all" });
});

Deno.test("findRows reads a word index whose texts have sizes and hashes among them", async () => {
  const file = indexedRows(EVENTS_SCHEMA, 80, [{
    type: MIXED_WORDS_TYPE,
    fields: [7],
    data: Uint8Array.from(atob(MIXED_WORDS), (letter) => letter.charCodeAt(0)),
    properties: { [HEADER_BYTES_PROPERTY]: "18" },
  }]);
  const idOf = (n: number) => (n * 2_654_435_761 >>> 0).toString(16).padStart(8, "0");
  const rowsOf = async (text: string) => {
    const set = await findRows({ kind: "terms", column: "raw", mode: "all", text }, file);
    return set.kind === "rows" ? [...set.rows] : set.kind;
  };
  for (let n = 0; n < 80; n += 1) {
    const granule = Array.from({ length: 16 }, (_, at) => 16 * (n >> 4) + at);
    assert.deepEqual(await rowsOf(idOf(n)), granule, idOf(n));
    // What is behind the cut is no digit.
    assert.deepEqual(await rowsOf(idOf(n).replace(/.$/, "x")), "none");
  }
  assert.deepEqual(file.damages, []);
});

Deno.test("findRows reads a word index of the first version", async () => {
  // 80 rows "line n of m", m being n % 20.
  const bytes = Uint8Array.from(atob(WORDS_BEFORE), (letter) => letter.charCodeAt(0));
  const file = indexedRows(EVENTS_SCHEMA, 80, [{
    type: UNCODED_WORDS_TYPE,
    fields: [7],
    data: bytes,
    properties: { [HEADER_BYTES_PROPERTY]: "15" },
  }]);
  const rowsOf = async (text: string) => {
    const set = await findRows({ kind: "terms", column: "raw", mode: "all", text }, file);
    return set.kind === "rows" ? [...set.rows] : set.kind;
  };
  const granule = (at: number) => Array.from({ length: 16 }, (_, n) => 16 * at + n);
  for (const n of [20, 37, 50, 79]) assert.deepEqual(await rowsOf(String(n)), granule(n >> 4));
  for (const text of ["line", "16"]) assert.equal(await rowsOf(text), "all");
  assert.equal(await rowsOf("80"), "none");
  assert.deepEqual(file.damages, []);
});

Deno.test("findRows of a phrase finds each row that has it, and of frequent words few others", async () => {
  const frequent = [..."abcdefgh", "é", "漢", "user_id"];
  const words = [...frequent, ...frequent, "7", "42", "x".repeat(64), "rare"];
  let [asked, left] = [0, 0];
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const random = new SeededRandom(seed);
    const source = new TextSource(random);
    // Few words come behind each, so that most pairs are nowhere.
    const next = new Map(words.map((word) => [word, [1, 2, 3].map(() => source.one(words))]));
    const textOf = (length: number) => {
      let word = source.one(words);
      let text = word;
      for (let at = 1; at < length; at += 1) {
        word = random.chance(0.002) ? source.one(words) : source.one(present(next.get(word)));
        text += source.one([" ", "-", " \n"]) + word;
      }
      return random.chance(0.002) ? `${text}\u1c89` : text;
    };
    const rows = Array.from(
      { length: 200 + random.below(1_000) },
      (_, n) => eventRow(n, { raw: random.chance(0.1) ? "" : textOf(1 + random.below(5)) }),
    );
    const file = indexedRows(
      EVENTS_SCHEMA,
      rows.length,
      blobsOfRows(EVENTS_SCHEMA, rows, { batchRows: 1 + random.below(500) }),
    );
    for (let round = 0; round < 20; round += 1) {
      const mode = random.chance(0.7) ? "phrase" : "prefix";
      const text = random.chance(0.5)
        ? textOf(2 + random.below(2))
        : `${source.one(frequent)} ${source.one(frequent)} ${mode === "prefix" ? "u" : ""}`;
      const query = { kind: "terms", column: "raw", mode, text } as const;
      const set = await findRows(query, file);
      assertWellFormed(set);
      for (const [row, { raw }] of rows.entries()) {
        if (!matches(String(raw), query) || hasRow(set, row)) continue;
        assert.fail(`seed ${seed}: ${JSON.stringify(query)} loses ${JSON.stringify(raw)}`);
      }
      asked += 1;
      // Rows of letters newer than DuckDB are found by any phrase.
      if (set.kind === "none" || (set.kind === "rows" && set.rows.length <= 48)) left += 1;
    }
    assert.deepEqual(file.damages, []);
  }
  assert.ok(left > asked / 16, `${left} of ${asked} phrases leave few rows`);
});

Deno.test("findRows of a phrase of frequent words leaves just the granules where they stand side by side", async () => {
  const rows = Array.from({ length: 4_096 }, (_, n) =>
    eventRow(n, {
      raw: n === 777
        ? "alpha beta gamma"
        : n % 5 === 0
        ? `alpha ${n % 7} beta`
        : n % 5 === 1
        ? "beta - gamma"
        : n === 3_002
        ? "alpha\u1c89 beta"
        : "delta",
    }));
  const file = indexedRows(EVENTS_SCHEMA, rows.length, blobsOfRows(EVENTS_SCHEMA, rows));
  const asked = async (mode: TermsQuery["mode"], text: string) => {
    const set = await findRows({ kind: "terms", column: "raw", mode, text }, file);
    return set.kind === "rows" ? new Set(set.rows.map((row) => row >> 8)) : set.kind;
  };
  // The other row may match anything, for its letter is newer than DuckDB.
  const disputed = 3_002 >> 8;
  for (const mode of ["phrase", "prefix"] as const) {
    assert.deepEqual(await asked(mode, "alpha beta gamma"), new Set([777 >> 8, disputed]), mode);
    assert.deepEqual(await asked(mode, "beta alpha gamma"), new Set([disputed]), mode);
  }
  assert.equal(await asked("all", "alpha beta"), "all");
  assert.equal(await asked("phrase", "alpha 0 beta"), "all");
});

Deno.test("findRows finds words at the edges of a text of a megabyte with 100,000 of them", async () => {
  const giant = `first ${Array.from({ length: 100_000 }, (_, n) => `w${n}`).join(" ")} ${
    "z".repeat(400_000)
  } last`;
  const rows = [giant, "", "first", giant.toUpperCase(), "é".repeat(500_000)]
    .flatMap((raw) => [raw, ...Array.from({ length: 40 }, () => "other")])
    .map((raw, n) => eventRow(n, { raw }));
  const file = indexedRows(EVENTS_SCHEMA, rows.length, blobsOfRows(EVENTS_SCHEMA, rows));
  const wanted: [text: string, rows: number[]][] = [
    ["first", [0, 82, 123]],
    ["last", [0, 123]],
    ["w99999", [0, 123]],
    ["z".repeat(400_000), [0, 123]],
    ["é".repeat(500_000), [164]],
  ];
  for (const [text, found] of wanted) {
    const set = await findRows({ kind: "terms", column: "raw", mode: "all", text }, file);
    for (const row of found) assert.ok(hasRow(set, row), text.slice(0, 20));
  }
  const absent = { kind: "terms", column: "raw", mode: "all", text: "w100000" } as const;
  assert.deepEqual(await findRows(absent, file), { kind: "none" });
});

Deno.test("findRows lets others have a turn among thousands of texts that are looked for", async () => {
  const rows = Array.from({ length: 2_000 }, (_, n) => eventRow(n, { raw: `word${n}` }));
  const file = indexedRows(EVENTS_SCHEMA, rows.length, blobsOfRows(EVENTS_SCHEMA, rows));
  const equals = (values: readonly string[]) =>
    ({ kind: "equals", column: "raw", values }) as const;
  const texts = Array.from({ length: 1_000 }, (_, n) => n === 900 ? "word77" : `none${n}`);
  for (
    const query of [
      equals(texts),
      { kind: "or", of: texts.map((text) => equals([text])) },
      { kind: "terms", column: "raw", mode: "any", text: texts.join(" ") },
    ] satisfies RowQuery[]
  ) {
    let turns = 0;
    const others = setInterval(() => turns += 1, 0);
    const found = await findRows(query, file);
    clearInterval(others);
    assert.ok(turns > 1, `${turns}`);
    assert.ok(hasRow(found, 77));
    assert.ok(!hasRow(found, 1_500));
  }
});

Deno.test("findRows joins and and or, and knows nothing without an index", async () => {
  const rows = Array.from(
    { length: 2_000 },
    (_, n) => eventRow(n, { raw: `word${n % 400} n${n}`, host: `h${n}` }),
  );
  const file = indexedRows(EVENTS_SCHEMA, rows.length, blobsOfRows(EVENTS_SCHEMA, rows));
  const word = (text: string) => ({ kind: "terms", column: "raw", mode: "all", text }) as const;
  const host = (value: string) => ({ kind: "equals", column: "host", values: [value] }) as const;
  const unknown = { kind: "all" } as const;
  const table: [query: RowQuery, rows: number[] | "all" | "none"][] = [
    [{ kind: "and", of: [word("n7"), host("h7")] }, [7]],
    [{ kind: "and", of: [word("n7"), unknown] }, [7]],
    [{ kind: "and", of: [word("n7"), host("h1999")] }, "none"],
    [{ kind: "and", of: [] }, "all"],
    [{ kind: "or", of: [word("n7"), host("h1999")] }, [7, 1999]],
    [{ kind: "or", of: [word("n7"), unknown] }, "all"],
    [{ kind: "or", of: [word("absent")] }, "none"],
    [{ kind: "or", of: [] }, "none"],
    [word(""), "none"],
    [word("İ"), "all"],
    [{ ...word("n7"), column: "attributes" }, "all"],
    [{ ...word("n7"), column: "nowhere" }, "all"],
    [{ kind: "substring", column: "raw", text: "--", ignoreCase: false }, "all"],
    [{ kind: "substring", column: "raw", text: "qqq", ignoreCase: true }, "none"],
  ];
  for (const [query, wanted] of table) {
    const set = await findRows(query, file);
    const what = JSON.stringify(query);
    if (typeof wanted === "string") assert.equal(set.kind, wanted, what);
    else for (const row of wanted) assert.ok(hasRow(set, row) && set.kind !== "all", what);
  }
  const bare = indexedRows(EVENTS_SCHEMA, rows.length, []);
  for (const query of [word("n7"), host("h7")]) {
    assert.deepEqual(await findRows(query, bare), { kind: "all" });
  }
});

Deno.test("findRows without a sound index finds all rows, and says what is wrong with it", async () => {
  const rows = Array.from(
    { length: 1_500 },
    (_, n) =>
      eventRow(n, { raw: `word${n % 40} n${n} ${n % 97 === 0 ? "e\u0301" : ""}`, host: `h${n}` }),
  );
  const blobs = blobsOfRows(EVENTS_SCHEMA, rows);
  const queries: RowQuery[] = [
    { kind: "terms", column: "raw", mode: "all", text: "n700" },
    { kind: "terms", column: "raw", mode: "prefix", text: "n70" },
    { kind: "substring", column: "raw", text: "d39", ignoreCase: false },
    { kind: "equals", column: "host", values: ["h700"] },
    // Phrases alone open the index of pairs.
    { kind: "terms", column: "raw", mode: "phrase", text: "word20 n700" },
  ];
  const sound = indexedRows(EVENTS_SCHEMA, rows.length, blobs);
  const answers: RowSet[] = [];
  for (const query of queries) answers.push(await findRows(query, sound));
  const random = new SeededRandom(SEEDS);
  let damages = 0;
  for (let round = 0; round < 15 * SEEDS; round += 1) {
    const broken = blobs.map((blob) => ({ ...blob, data: blob.data.slice() }));
    const hit = broken[random.below(broken.length)] as { data: Uint8Array };
    const at = random.below(hit.data.length);
    if (random.chance(0.8)) hit.data[at] = (hit.data[at] as number) ^ 1 << random.below(8);
    else hit.data = hit.data.subarray(0, at);
    const file = indexedRows(EVENTS_SCHEMA, rows.length, broken);
    for (const [n, query] of queries.entries()) {
      const before = file.damages.length;
      const set = await findRows(query, file);
      // Without the filter of values the index tells.
      const isUnknown = file.damages.length > before && set.kind === "all";
      assert.deepEqual(set, isUnknown ? { kind: "all" } : answers[n], `byte ${at}`);
    }
    damages += file.damages.length;
  }
  assert.ok(damages > 10 * SEEDS, String(damages));
  const others = [
    indexedRows(EVENTS_SCHEMA, rows.length + 1, blobs),
    indexedRows(EVENTS_SCHEMA, rows.length, blobs.map((blob) => ({ ...blob, properties: {} }))),
  ];
  for (const file of others) {
    assert.deepEqual(await findRows(queries[0] as RowQuery, file), { kind: "all" });
    assert.equal(file.damages.length, 1);
  }
});
