/** Damage to JSON: values, names and structure changed within a text that mostly stays JSON. */

import { utf8 } from "../../shared/base/bytes.ts";
import type { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { mutateBytes, pick } from "./mutate_bytes.ts";

/** Values as texts, since some of them are none that `JSON.stringify` writes. */
const VALUES: readonly string[] = [
  "null",
  "true",
  "0",
  "-0",
  "-1",
  "1e400",
  "-1e-400",
  "18446744073709551615",
  "9223372036854775808",
  "123456789012345678901234567890",
  "1.0000000000000000000001",
  '"9223372036854775808"',
  '"-1"',
  '" 1"',
  '"0x10"',
  '"NaN"',
  '"Infinity"',
  '""',
  '"\\ud800"',
  '"\\u0000"',
  '"2262-04-12T00:00:00Z"',
  '"0000-00-00T00:00:00Z"',
  "[]",
  "{}",
  "[[]]",
  '{"__proto__":{"a":1}}',
  '{"constructor":1,"toString":2,"hasOwnProperty":3}',
  '{"a":1,"a":2}',
  '{"stringValue":"a","intValue":"1"}',
  '{"arrayValue":{"values":null}}',
  // Not JSON at all.
  "NaN",
  "01",
  "'a'",
  "",
  '"\u0001"',
];

const MARK = "\u0002mark\u0002";
const MARK_TEXT = JSON.stringify(MARK);

/** `text` with one place changed; bytes that are no longer UTF-8 once in a while. */
export function mutateJson(text: string, random: SeededRandom): Uint8Array {
  const changed = random.chance(0.85) ? mutateTree(text, random) : text;
  const bytes = utf8(changed);
  return random.chance(0.3) ? mutateBytes(bytes, random) : bytes;
}

function mutateTree(text: string, random: SeededRandom): string {
  const root: unknown = JSON.parse(text);
  if (typeof root !== "object" || root === null) return valueText(random);
  let node = root as Record<string, unknown>;
  for (;;) {
    const names = Object.keys(node);
    if (names.length === 0) return pick(random, VALUES);
    const name = pick(random, names);
    const value = node[name];
    if (typeof value === "object" && value !== null && random.chance(0.85)) {
      node = value as Record<string, unknown>;
      continue;
    }
    pick(random, CHANGES)(node, name, random);
    return JSON.stringify(root).replaceAll(MARK_TEXT, () => valueText(random));
  }
}

type Change = (node: Record<string, unknown>, name: string, random: SeededRandom) => void;

const toMark: Change = (node, name) => void (node[name] = MARK);

const CHANGES: readonly Change[] = [toMark, toMark, toMark, remove, rename];

function remove(node: Record<string, unknown>, name: string): void {
  delete node[name];
}

function rename(node: Record<string, unknown>, name: string, random: SeededRandom): void {
  const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const other = pick(random, [snake, name.toUpperCase(), `${name} `, "__proto__", "", "key"]);
  Object.defineProperty(node, other, { value: node[name], enumerable: true });
}

function valueText(random: SeededRandom): string {
  if (random.chance(0.7)) return pick(random, VALUES);
  const depth = 1 + random.below(random.chance(0.9) ? 100 : 50_000);
  return pick(random, [
    () => "[".repeat(depth) + "]".repeat(depth),
    () => '{"a":'.repeat(depth) + "1" + "}".repeat(depth),
    () => '{"arrayValue":{"values":['.repeat(depth) + "]}}".repeat(depth),
    () => "[".repeat(depth),
    () => JSON.stringify(pick(random, ["a", "é", "\n", "😀", "\\"]).repeat(depth)),
    () => `[${"1,".repeat(depth)}1]`,
    () => "9".repeat(depth),
  ])();
}
