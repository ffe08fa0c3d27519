/** Words of characters from all over Unicode: every script has a page of its own, or shares one. */

import type { SeededRandom } from "../../shared/testing/seeded_random.ts";

const PAGE = 256;
const CODE_POINTS = 0x110000;
const SHOWN = /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u;
const LENGTH_MAX = 7;

/** Seeded. Some are in another normal form than they were made in, some of several scripts. */
export function scriptWords(random: SeededRandom, count: number): string[] {
  const pick = <T>(values: readonly T[]) => values[random.below(values.length)] as T;
  return Array.from({ length: count }, () => {
    let page = pick(PAGES);
    let word = "";
    for (let length = 1 + random.below(LENGTH_MAX); length > 0; length -= 1) {
      if (random.chance(0.1)) page = pick(PAGES);
      word += pick(page);
    }
    return random.chance(0.3) ? word.normalize(pick(["NFD", "NFKC", "NFC"])) : word;
  });
}

/** Characters that are shown, by page. Scripts that take hundreds of pages give one in sixteen. */
function characterPages(): string[][] {
  const pages: string[][] = [];
  for (let first = 0; first < CODE_POINTS; first += PAGE) {
    const isOfMany = first >= 0x3400 && first < 0xd800 || first >= 0x17000 && first < 0x1b000 ||
      first >= 0x20000;
    if (isOfMany && first % (16 * PAGE) !== 0) continue;
    const characters = [];
    for (let code = first; code < first + PAGE; code += 1) {
      const character = String.fromCodePoint(code);
      if (SHOWN.test(character)) characters.push(character);
    }
    if (characters.length > 0) pages.push(characters);
  }
  return pages;
}

const PAGES: readonly (readonly string[])[] = characterPages();
