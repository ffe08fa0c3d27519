import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { EngineLab } from "../../testing/engine_lab.ts";
import { DIALECT_SETUP } from "./dialect.ts";
import { regexLiterals } from "./regex_literals.ts";

/** Letters with two and three forms, in several alphabets; some that mean something to patterns. */
const LETTERS = [..."aAeiIsSkKnN19_ .-'%é\u0301\u0307\u00dfſ\u212a\u0130ı漢🙂"];
const RUNS = Number(Deno.env.get("SVC_TEST_SEARCH_RUNS") ?? 8);
const textOf = (letters: readonly string[], maxLength: number) =>
  fc.array(fc.constantFrom(...letters), { maxLength }).map((letters) => letters.join(""));
const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
const valuesOf = (texts: readonly string[]) =>
  [...texts.map((text, n) => `(${n}, ${quoted(text)})`), "(9999, NULL)"].join(", ");
const texts = fc.array(textOf(LETTERS, 14), { minLength: 20, maxLength: 40 });
/** What follows letter by letter in one of the texts, so that much is found. */
const partOf = (texts: readonly string[], at: number) =>
  texts.join("").slice(3 * at, 3 * at + 1 + at % 6).toWellFormed();

/** Expressions of one SELECT. */
const EXPRESSIONS_A_SELECT = 48;

/** Compares what expressions of `t` give. Returns how many times one of them is true. */
async function compare(
  { lab, plain, texts, expressions }: {
    readonly lab: EngineLab;
    readonly plain: DuckDBConnection;
    readonly texts: readonly string[];
    readonly expressions: readonly (string | { readonly own: string; readonly plain: string })[];
  },
): Promise<number> {
  let found = 0;
  for (let at = 0; at < expressions.length; at += EXPRESSIONS_A_SELECT) {
    const some = expressions.slice(at, at + EXPRESSIONS_A_SELECT);
    const sql = (side: "own" | "plain") => {
      const items = some.map((one, at) => `${typeof one === "string" ? one : one[side]} AS x${at}`);
      return `SELECT ${items.join(", ")} FROM (VALUES ${valuesOf(texts)}) v(n, t) ORDER BY n`;
    };
    const { rows } = await lab.query(sql("own"));
    const expected = (await plain.runAndReadAll(sql("plain"))).getRows();
    deepStrictEqual(rows, expected, JSON.stringify([texts, some]));
    found += expected.flat().filter((value) => value === true).length;
  }
  return found;
}

async function openPlain(setup: readonly string[] = []): Promise<DuckDBConnection> {
  const connection = await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();
  for (const sql of setup) await connection.run(sql);
  return connection;
}

const likes = (pattern: string) => [
  `t ILIKE ${pattern}`,
  `t NOT ILIKE ${pattern}`,
  `lower(t) LIKE ${pattern}`,
  `lcase(t) NOT LIKE ${pattern}`,
  `contains(lower(t), ${pattern})`,
  `NOT (t ILIKE ${pattern}) OR t IS NULL`,
];

Deno.test({
  name: "ILIKE and searches of lower(t) match what DuckDB's own do, over letters of all cases",
  fn: async () => {
    await using lab = await EngineLab.open();
    const plain = await openPlain();
    let found = 0;
    await fc.assert(
      fc.asyncProperty(texts, textOf(LETTERS, 6), async (texts, other) => {
        const parts = [other, partOf(texts, 2), partOf(texts, 5), partOf(texts, 9)];
        const lower = parts.flatMap((part) => [part, part.toLowerCase()]);
        const patterns = lower.flatMap((part) => [`%${part}%`, part, `${part}%`, `%${part}_%x`]);
        const expressions = patterns.flatMap((pattern) => likes(quoted(pattern)));
        found += await compare({ lab, plain, texts, expressions });
      }),
      { numRuns: RUNS },
    );
    ok(found > 25 * RUNS, `${found} matches`);
    plain.closeSync();
  },
});

/** What `match_calls.ts` made of calls before it looked for letters of any case by patterns. */
function matchBefore(kind: "match_terms" | "match_any" | "match_phrase", words: readonly string[]) {
  const both = (parts: readonly string[], by: "AND" | "OR") => `(${parts.join(` ${by} `)})`;
  const beside = "[^A-Za-z0-9_]";
  const asciiBeside = String.raw`[\x00-/:-^\x60{-\x7f]`;
  const inner = kind === "match_phrase"
    ? [(beside: string) => words.join(`${beside}+`)]
    : kind === "match_any"
    ? [() => `(?:${words.join("|")})`]
    : words.map((word) => () => word);
  const around = (beside: string) =>
    inner.map((one) => String.raw`(?:\A|${beside})${one(beside)}(?:\z|${beside})`);
  const [longest = ""] = words.toSorted((a, b) => b.length - a.length);
  const loose = [
    ...kind === "match_any" ? [] : [`contains(lower(t), '${longest}')`],
    ...around(beside).map((pattern) => `regexp_matches(t, '(?i)${pattern}')`),
  ];
  const sure = around(asciiBeside).map((pattern) => `regexp_matches(lower(t), '${pattern}')`);
  const list = `[${words.map((word) => `'${word}'`)}]`;
  const cut = kind === "match_phrase"
    ? `contains(match_spaced(t), ' ${words.join(" ")} ')`
    : `list_has_${
      kind === "match_any" ? "any" : "all"
    }(string_split(match_spaced(t), ' '), ${list})`;
  return `CASE WHEN t IS NULL THEN NULL WHEN NOT ${both(loose, "AND")} THEN false
    WHEN strlen(t) = length(t) OR ${both(sure, "AND")} THEN true ELSE ${cut} END`;
}

Deno.test({
  name: "words of ASCII match what they matched by lower(t), over letters of all cases",
  fn: async () => {
    await using lab = await EngineLab.open();
    const plain = await openPlain(DIALECT_SETUP);
    const word = textOf([..."aeisknn19_"], 4).filter((word) => word !== "");
    let found = 0;
    await fc.assert(
      fc.asyncProperty(
        texts,
        fc.uniqueArray(word, { minLength: 1, maxLength: 4 }),
        async (some, words) => {
          const upper = words.map((word) => word.toUpperCase().replace("K", "\u212a")).join(" ");
          const texts = [
            ...some,
            ...words.flatMap((word) => [word, `${some[0]} ${word.toUpperCase()}.`]),
            ...some.map((text, at) =>
              text + [words.join(at % 2 ? " " : ". "), upper][at % 3] + text
            ),
          ];
          const expressions = (["match_terms", "match_any", "match_phrase"] as const).map((
            kind,
          ) => ({
            own: `${kind}(t, '${words.join(" ")}')`,
            plain: matchBefore(kind, words),
          }));
          found += await compare({ lab, plain, texts, expressions });
        },
      ),
      { numRuns: RUNS },
    );
    // A run finds 20 matches on average, and none to 60 of them.
    ok(found > 3 * RUNS, `${found} matches`);
    plain.closeSync();
  },
});

Deno.test({
  name: "DuckDB's lower makes one letter of one, and ASCII of two letters beyond it",
  fn: async () => {
    const plain = await openPlain();
    const all = "FROM range(1, 1114112) r(i) WHERE NOT i BETWEEN 55296 AND 57343";
    const { 0: row } = (await plain.runAndReadAll(
      `SELECT list(i ORDER BY i) FILTER (i > 127 AND strlen(lower(chr(i::INT))) = 1)::VARCHAR,
        count(*) FILTER (length(lower(chr(i::INT))) <> 1),
        count(*) FILTER (i < 128 AND lower(chr(i::INT)) <> chr(CASE WHEN i BETWEEN 65 AND 90 THEN i + 32 ELSE i END::INT)) ${all}`,
    )).getRows();
    deepStrictEqual(row, ["[304, 8490]", 0n, 0n]);
    plain.closeSync();
  },
});

const one = (...texts: readonly string[]) => texts.map((text) => [text]);
const REGEXES: readonly (readonly [regex: string, parts: readonly string[][] | undefined])[] = [
  [String.raw`port \d{5} ssh2`, one("port ", " ssh2")],
  ["abc", one("abc")],
  ["abc.", one("abc")],
  ["ab*c", one("a", "c")],
  ["ab+c", one("ab", "c")],
  ["ab{2}cd", one("a", "cd")],
  ["ab??cd", one("a", "cd")],
  ["user=(root|admin) from", [["user="], ["root", "admin"], [" from"]]],
  ["a(b|cd|b)?e", one("a", "e")],
  ["a(bc)+(de){0}f", one("a", "bc", "f")],
  [String.raw`x(?:(a\)|[)]b))?y`, one("x", "y")],
  ["(ab(c|d)|e.fgh)z", [["ab", "fgh"], ["z"]]],
  ["(ab|.*)z", one("z")],
  [String.raw`^GET /a\.b\b[^ ]+ 5\d\d$`, one("GET /a.b", " 5")],
  ["timeout|refused|failed.*", [["timeout", "refused", "failed"]]],
  ["abc|def.", [["abc", "def"]]],
  ["abc|", undefined],
  ["(?s)abc.", one("abc")],
  [String.raw`(?s).*a\x{5f}b`, one("a_b")],
  [String.raw`\x41bc.`, undefined],
  [String.raw`\pLabc`, undefined],
  [String.raw`\Qabc.\E`, undefined],
  ["abc(?P<n>d)", one("abc", "d")],
  ["abc(?i:d)", undefined],
  ["abc(d", undefined],
  ["abc)d", undefined],
  [`${"(".repeat(40)}a${")".repeat(40)}`, undefined],
  ["[[:alpha:]]+é漢🙂?", one("é漢")],
  ["a{,3}bcd", undefined],
];

Deno.test({
  name: "regexLiterals reads the parts that a match must have, or nothing",
  fn() {
    for (const [regex, parts] of REGEXES) {
      deepStrictEqual(regexLiterals(regex)?.parts, parts, regex);
    }
    const readings = ["abc", "(?is)abc.", "ab(c)"].map((regex) => regexLiterals(regex));
    deepStrictEqual(readings.map((one) => one?.isText), [true, false, false]);
    deepStrictEqual(readings.map((one) => one?.ignoreCase), [false, true, false]);
    deepStrictEqual(regexLiterals("a.(c", "li"), {
      parts: [["a.(c"]],
      ignoreCase: true,
      isText: true,
    });
    strictEqual(regexLiterals("abc", "q"), undefined);
  },
});

const PIECES = [
  ..."abc",
  ...["abc", "bca", "é", "_", "%", " ", "b+", "a*", "c?", "b{2}", "a{0,3}", "(abc|b)", "(?:ca)?"],
  ...["[ab]", "[^a]+", ".", ".*", String.raw`\d`, String.raw`\.`, String.raw`\b`, "(a(b)c)*", "|"],
  ...["(abc|bca%)", "(abc|b_c|cab)+", "(?P<n>abc)", "(aab|a(bca|cab)b)"],
];

Deno.test({
  name: "regular expressions behind a search for their literals match what they match alone",
  fn: async () => {
    await using lab = await EngineLab.open();
    const plain = await openPlain();
    const letters = ["a", "b", "c", "B", "\n", "abc", "bca", "é", "_", "%", " ", "1", "."];
    const regex = fc.tuple(fc.constantFrom("", "", "", "(?i)", "(?s)"), textOf(PIECES, 7))
      .map(([flags, pieces]) => flags + pieces);
    let [found, sieved] = [0, 0];
    await fc.assert(
      fc.asyncProperty(
        fc.array(textOf(letters, 9), { minLength: 30, maxLength: 50 }),
        fc.array(regex, { minLength: 12, maxLength: 12 }),
        async (texts, regexes) => {
          sieved += regexes.filter((one) =>
            regexLiterals(one)?.parts.some((texts) =>
              texts.every(({ length }) => length > 2)
            )
          ).length;
          const expressions = regexes.flatMap((one) => [
            `regexp_matches(t, ${quoted(one)})`,
            `NOT regexp_full_match(t, ${quoted(one)})`,
            `regexp_full_match(t, ${quoted(one)}, 's')`,
            `regexp_matches(t, ${quoted(one)}, 'i')`,
            `regexp_matches(t, ${quoted(one)}, 'l')`,
            `t SIMILAR TO ${quoted(one)}`,
          ]);
          found += await compare({ lab, plain, texts, expressions });
        },
      ),
      { numRuns: RUNS },
    );
    ok(found > 25 * RUNS && sieved > RUNS / 4, `${found} matches, ${sieved} expressions`);
    plain.closeSync();
  },
});

const patternsOf = (pattern: string) => [
  ...["LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"].flatMap((name) => [
    `t ${name} ${quoted(pattern)}`,
    `t ${name} ${quoted(pattern)} ESCAPE '\\'`,
    `t ${name} ${quoted(pattern)} ESCAPE '.'`,
  ]),
  `lower(t) LIKE ${quoted(pattern)} ESCAPE '\\'`,
  `t GLOB ${quoted(pattern.replaceAll("%", "*").replaceAll("_", "?"))}`,
];

Deno.test({
  name: "patterns with wildcards for a letter, an escape or of GLOB match what DuckDB's own do",
  fn: async () => {
    await using lab = await EngineLab.open();
    const plain = await openPlain();
    const letters = ["a", "b", "B", "é", "_", "%", "*", "?", " ", "abc", "\\", "k", "\u212a"];
    const pieces = ["%", "_", "a", "b", "abc", "\\%", "\\_", "a\\_b", "._", "é", " ", "k", "%ab"];
    let found = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(textOf(letters, 7), { minLength: 30, maxLength: 50 }),
        fc.array(textOf(pieces, 5), { minLength: 4, maxLength: 4 }),
        async (texts, some) => {
          const ended = some.map((pattern) => pattern.replace(/[\\.]+$/, ""));
          const patterns = ended.flatMap((pattern) => [pattern, `%${pattern}%`, `%abc${pattern}%`]);
          const expressions = patterns.flatMap(patternsOf);
          found += await compare({ lab, plain, texts, expressions });
        },
      ),
      { numRuns: RUNS },
    );
    ok(found > 100 * RUNS, `${found} matches`);
    plain.closeSync();
  },
});

Deno.test({
  name: "searches keep the names, types and errors of the calls that they are made of",
  fn: async () => {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: 1_790_000_000_000_000_000n, raw: "An Error at port 12345 ssh2" }]);
    const { columns, types, rows } = await lab.query(
      String.raw`SELECT raw ILIKE '%error%', regexp_matches(raw, 'port \d{5} ssh2'),
        count(*) FILTER (WHERE lower(raw) LIKE '%error%port%') FROM events GROUP BY raw`,
    );
    const plain = await openPlain();
    await plain.run("CREATE TABLE events AS SELECT 'An Error at port 12345 ssh2' AS raw");
    const expected = await plain.runAndReadAll(
      String.raw`SELECT raw ILIKE '%error%', regexp_matches(raw, 'port \d{5} ssh2'),
        count(*) FILTER (WHERE lower(raw) LIKE '%error%port%') FROM events GROUP BY raw`,
    );
    deepStrictEqual(columns, expected.columnNames());
    deepStrictEqual(types, expected.columnTypes().map(String));
    deepStrictEqual(rows, [[true, true, 1]]);
    await rejects(
      lab.query("SELECT regexp_matches(raw, 'port(ssh2') FROM events"),
      /missing \): port\(ssh2/,
    );
    await rejects(lab.query("SELECT timestamp ILIKE '%error%' FROM events"), /~~\*|ILIKE/);
    await rejects(lab.query("SELECT nothing ILIKE '%error%' FROM events"), /nothing/);
    plain.closeSync();
  },
});

Deno.test({
  name:
    "where a collation, a lambda or an alias is in it, a search stays as it is or answers alike",
  fn: async () => {
    await using lab = await EngineLab.open();
    const plain = await openPlain();
    const from = "(SELECT 'H\u00c9llo' AS t, ['Error', 'fine'] AS l)";
    for (
      const sql of [
        `SELECT t COLLATE NOCASE LIKE '%LLO%', t ILIKE '%LLO%' FROM ${from}`,
        `SELECT u ILIKE '%llo%' FROM (SELECT t COLLATE NOACCENT AS u FROM ${from})`,
        `SELECT list_filter(l, lambda s: s ILIKE '%error%') FROM ${from}`,
        `SELECT CASE WHEN u.t ILIKE '%LL%' THEN 1 END FROM ${from} u ORDER BY t ILIKE '%x%'`,
      ]
    ) {
      const expected = (await plain.runAndReadAll(sql)).getRowsJson();
      strictEqual(JSON.stringify((await lab.query(sql)).rows), JSON.stringify(expected), sql);
    }
    plain.closeSync();
  },
});
