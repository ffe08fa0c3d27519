import assert from "node:assert/strict";
import { EngineLab } from "../../testing/engine_lab.ts";
import { ALONE, DISPUTED, isDisputed, KIND, pageOf, SEPARATOR, UNSTABLE } from "./code_points.ts";

const LAST = 0x10ffff;
const AT_ONCE = 65_536;

function classOf(codePoint: number): number {
  return pageOf(codePoint).classes[codePoint & 0xff] as number;
}

/** What DuckDB makes of a code point: alone, part of a token, its lower case, how long, in NFC. */
type Seen = readonly [boolean, boolean, number, number, boolean];

Deno.test("DuckDB sees each code point that is not disputed as tokenize does", async () => {
  await using lab = await EngineLab.open();
  const wrong: string[] = [];
  for (let from = 1; from <= LAST; from += AT_ONCE) {
    const end = Math.min(LAST + 1, from + AT_ONCE);
    // Without those that are what most are: a separator that is its own lower case.
    const { texts } = await lab.query(
      String.raw`SELECT * FROM (
        SELECT n, regexp_matches(l, '[\p{Han}\p{Hiragana}\p{Katakana}]') AS alone,
          regexp_matches(l, '[\p{L}\p{N}\p{M}_]') AS token, unicode(l) AS folded, length(l) AS len,
          nfc_normalize(c) = c AS normal
        FROM (SELECT n, chr(n::INT) AS c, lower(c) AS l
          FROM range(${from}, ${end}) t(n) WHERE n < 55296 OR n > 57343)
      ) WHERE (NOT alone AND NOT token AND folded = n AND len = 1 AND normal) IS NOT TRUE`,
      { rowsMax: AT_ONCE },
    );
    const seen = new Map(texts.map((text) => {
      const [codePoint, ...rest] = JSON.parse(text);
      return [codePoint as number, rest as unknown as Seen];
    }));
    for (let codePoint = from; codePoint < end; codePoint += 1) {
      if (codePoint >= 0xd800 && codePoint < 0xe000) continue;
      const [isAlone, isToken, folded, length, isNormal] = seen.get(codePoint) ??
        [false, false, codePoint, 1, true];
      const flags = classOf(codePoint);
      if ((flags & DISPUTED) !== 0) continue;
      const kind = flags & KIND;
      const isSame = isNormal
        ? (kind === ALONE) === (isAlone && isToken) && (kind !== SEPARATOR) === isToken &&
          pageOf(codePoint).folded[codePoint & 0xff] === folded && length === 1
        : (flags & UNSTABLE) !== 0;
      if (!isSame) wrong.push(codePoint.toString(16));
    }
  }
  assert.deepEqual(wrong, []);
});

Deno.test("a code point that can join the one before it is not stable", () => {
  for (let codePoint = 0; codePoint <= LAST; codePoint += 1) {
    if (codePoint >= 0xd800 && codePoint < 0xe000) continue;
    const [, ...joining] = String.fromCodePoint(codePoint).normalize("NFD");
    for (const letter of joining) {
      assert.ok((classOf(letter.codePointAt(0) ?? 0) & UNSTABLE) !== 0, letter);
    }
  }
});

Deno.test("isDisputed names texts with letters that are newer than DuckDB", () => {
  for (const text of ["İ", "plain \u1c89", "\u{10d50}"]) assert.ok(isDisputed(text), text);
  for (const text of ["", "plain", "Straße É 漢 ไทย 한국 e\u0301"]) {
    assert.ok(!isDisputed(text), text);
  }
});
