/**
 * Rows of the WAL that a statement finds by a text are those that it finds without looking for one.
 * Frames have few rows each, with words in any case, letters beyond ASCII, escapes of JSON and
 * numbers that are written in several ways.
 *
 * `SVC_TEST_SEED` and `SVC_TEST_SIFT_SEEDS` ask for other seeds, and more of them.
 */

import { deepStrictEqual, ok } from "node:assert/strict";
import { EngineLab, type LabAnswer } from "../../shared/testing/engine_lab.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { drain } from "./sql_lab.ts";

const FIRST_SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 50_000);
const SEEDS = Number(Deno.env.get("SVC_TEST_SIFT_SEEDS") ?? 3);
const FRAMES = 40;
const ROUNDS = 2;
const STATEMENTS = 30;
const LANE = { tenant: "default", index: "events" };
const FIRST_NS = 1_790_000_000_000_000_000n; // 2026-09-21T14:13:20Z

const TOKENS = [
  ...["kiosk", "KIOSK", "Kiosk", "\u212aiosk", "k\u0130osk", "kio\u017fk", "skis", "\u0130stanbul"],
  ...["trace-4f2a9c", "4f2a9c", "1e500", "1E3", "1000.0", "12345", "12345.0", "true", "snake_case"],
  ...[
    "caf\u00e9",
    "cafe\u0301",
    "CAF\u00c9",
    "a/b/cde",
    "back\\slash",
    'quo"te',
    "\u65e5\u672c\u8a9e",
  ],
  ...[
    "100%sure",
    "under_score",
    "x\ty",
    "\ud83d\ude00ok",
    "Stra\u00dfe",
    "STRASSE",
    "\u00c5ngstrom",
  ],
];

/** JSON has them so; `attr_get` shows some in other ways. */
const NUMBERS = ["1e3", "1E3", "1000.0", "12345", "12345.0", "12345678901", "true", "null"];
const SHOWN = ["1000.0", "12345", "12345.0", "12345678901", "true"];

function pick<T>(random: SeededRandom, of: readonly T[]): T {
  return of[random.below(of.length)] as T;
}

/** A text of JSON in which some letters are escapes. */
function jsonText(random: SeededRandom, text: string): string {
  return JSON.stringify(text).replaceAll(/(?<!\\)[a-zA-Z/]/g, (letter) => {
    if (letter === "/" && random.chance(0.5)) return "\\/";
    const code = (letter.codePointAt(0) ?? 0).toString(16).padStart(4, "0");
    return random.chance(0.1) ? `\\u${random.chance(0.5) ? code : code.toUpperCase()}` : letter;
  });
}

function randomRow(random: SeededRandom) {
  const words = Array.from({ length: 1 + random.below(4) }, () => pick(random, TOKENS));
  const value = () =>
    random.chance(0.5) ? pick(random, NUMBERS) : jsonText(random, pick(random, TOKENS));
  const members = [
    `"id":${jsonText(random, pick(random, TOKENS))}`,
    `"n":${pick(random, NUMBERS)}`,
    `"o":{"a":${random.chance(0.5) ? " " : ""}${value()}}`,
  ];
  return {
    raw: words.join(" "),
    source: pick(random, TOKENS),
    attributes: `{${members.filter(() => random.chance(0.8)).join()}}`,
  };
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

function randomCondition(random: SeededRandom, depth = 0): string {
  if (depth < 2 && random.chance(0.35)) {
    const [left, right] = [0, 1].map(() => randomCondition(random, depth + 1));
    if (random.chance(0.2)) return `NOT (${left})`;
    return `(${left} ${random.chance(0.5) ? "AND" : "OR"} ${right})`;
  }
  const token = () => pick(random, TOKENS);
  const part = (text: string) => text.slice(random.below(2), text.length - random.below(2));
  const column = pick(random, ["raw", "raw", "source", "attributes"]);
  const path = pick(random, ["id", "id", "id", "n", "o.a"]);
  const attribute = pick(random, [
    `attr_get(attributes, '${path === "o.a" ? "o" : path}')`,
    `attributes->>'$.${path}'`,
    `json_extract_string(attributes, '$.${path}')`,
  ]);
  return pick(random, [
    () => `match_terms(${column}, ${quoted(token())})`,
    () => `match_terms(${column}, ${quoted(`${token()} ${token()}`)})`,
    () => `match_any(${column}, ${quoted(`${token()} ${token()}`)})`,
    () => `match_phrase(${column}, ${quoted(`${token()} ${token()}`)})`,
    () => `match_prefix(${column}, ${quoted(part(token()))})`,
    () => `${column} LIKE ${quoted(`%${part(token())}%`)}`,
    () => `${column} LIKE ${quoted(`${token()}%`)}`,
    () => `${column} ILIKE ${quoted(`%${part(token())}%`)}`,
    () => `lower(${column}) LIKE ${quoted(`%${token().toLowerCase()}%`)}`,
    () => `contains(${column}, ${quoted(part(token()))})`,
    () => `starts_with(${column}, ${quoted(token())})`,
    () => `regexp_matches(${column}, ${quoted(RegExp.escape("kiosk"))}, 'i')`,
    () => `regexp_matches(${column}, '(kiosk|trace-4f)[0-9a-f]*')`,
    () => `source = ${quoted(token())}`,
    () => `source IN (${quoted(token())}, ${quoted(token())})`,
    () => `${attribute} = ${quoted(token())}`,
    () => `${attribute} IN (${quoted(token())}, ${quoted(token())})`,
    () => `${attribute} = ${quoted(pick(random, SHOWN))}`,
    () => `attr_get(attributes, 'o') = ${quoted(`{"a":${pick(random, SHOWN)}}`)}`,
    () => `attr_get(attributes, 'o') = ${quoted(`{"a":"${token()}"}`)}`,
  ])();
}

/** Statements that read fewer rows than there are. */
let sifted = 0;

/**
 * Looks for the rows of some conditions before any statement has the rows of the WAL converted.
 */
async function compare(lab: EngineLab, conditions: readonly string[]): Promise<void> {
  const found: LabAnswer[] = [];
  for (const condition of conditions) {
    await lab.restartEngine();
    const where = `WHERE ${condition} ORDER BY timestamp_ns`;
    found.push(await lab.query(`SELECT timestamp_ns FROM events ${where}`));
  }
  for (const [at, condition] of conditions.entries()) {
    const all = await lab.query(
      `SELECT n FROM (SELECT timestamp_ns AS n, ${condition} AS met FROM events)
      WHERE met ORDER BY n`,
    );
    deepStrictEqual(found[at]?.texts, all.texts, condition);
    const planned = found[at]?.stats.scan?.planned_rows ?? 0;
    if (planned < (all.stats.scan?.planned_rows ?? 0)) sifted += 1;
  }
}

for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
  Deno.test(`sifted rows of the WAL are those that a statement finds; seed ${seed}`, async () => {
    await using lab = await EngineLab.open({ wal: true, engine: { siftedRowsMin: 1 } });
    const random = new SeededRandom(seed);
    let ns = FIRST_NS;
    const append = async () => {
      const rows = Array.from({ length: 1 + random.below(2) }, () => randomRow(random));
      await lab.append(rows.map((row) => ({ ...row, ns: ns += 1_000_000_000n })));
    };
    for (let frame = 0; frame < FRAMES; frame += 1) {
      await append();
      if (random.chance(0.1)) await lab.wal?.seal(LANE);
      if (frame === FRAMES / 2 && random.chance(0.5)) await drain(lab);
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      await compare(lab, Array.from({ length: STATEMENTS }, () => randomCondition(random)));
      await append();
    }
  });
}

Deno.test("a good part of these statements was sifted", () => {
  ok(sifted > ROUNDS * STATEMENTS * SEEDS / 4, `${sifted} of ${ROUNDS * STATEMENTS * SEEDS}`);
});
