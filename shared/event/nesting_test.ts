import assert from "node:assert/strict";
import { nestsDeeper } from "./nesting.ts";

const MAX = 10;
const LONG = "x".repeat(100);

const CASES: readonly { text: string; deeper: boolean }[] = [
  { text: `{"a":${"[".repeat(9)}${"]".repeat(9)},"b":"${LONG}"}`, deeper: false },
  { text: `{"a":${"[".repeat(10)}${"]".repeat(10)},"b":"${LONG}"}`, deeper: true },
  { text: `{"b":"${LONG}","a":${'{"a":'.repeat(9)}1${"}".repeat(9)}}`, deeper: false },
  { text: `{"b":"${LONG}","a":${'{"a":[]'.repeat(10)}${"}".repeat(10)}}`, deeper: true },
  { text: `{"a":[${"[],".repeat(100)}{}]}`, deeper: false },
  { text: `{"a":"${"[{".repeat(100)}"}`, deeper: false },
  { text: `{"a":"\\"${"[{".repeat(100)}","b":"\\\\"}`, deeper: false },
  { text: `{"a":"\\\\","b":${"[".repeat(10)}${"]".repeat(10)},"c":"${LONG}"}`, deeper: true },
  // Its length alone tells: ten levels take twenty characters.
  { text: "[".repeat(10) + "]".repeat(10), deeper: false },
  { text: "[".repeat(11) + "]".repeat(11), deeper: true },
];

for (const { text, deeper } of CASES) {
  Deno.test({
    name: `nestsDeeper than ${MAX} is ${deeper} of ${text.slice(0, 60)}`,
    fn: () => assert.equal(nestsDeeper(text, MAX), deeper),
  });
}
