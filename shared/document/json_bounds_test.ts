import assert from "node:assert/strict";
import { boundsFault } from "./json_bounds.ts";

const BOUNDS = { depthMax: 10, valuesMax: 100, namesMax: 40 };
const DEEP = "nests deeper than 10 objects and arrays";
const WIDE = "holds more than 100 members and elements";
const NAMED = "has an object of more than 40 members: tell them apart by values, not by names";
const LONG = "x".repeat(500);

function members(count: number): string {
  return Array.from({ length: count }, (_, at) => `"a:${at}":":"`).join(",");
}

function numbers(count: number): string {
  return Array(count).fill("1").join(",");
}

const CASES: readonly { what: string; text: string; fault: string | undefined }[] = [
  {
    what: "arrays in an object, as deep as may be",
    text: `{"a":${"[".repeat(9)}${"]".repeat(9)},"b":"${LONG}"}`,
    fault: undefined,
  },
  {
    what: "arrays in an object, one too deep",
    text: `{"a":${"[".repeat(10)}${"]".repeat(10)},"b":"${LONG}"}`,
    fault: DEEP,
  },
  {
    what: "objects, as deep as may be",
    text: `{"b":"${LONG}","a":${'{"a":'.repeat(9)}1${"}".repeat(9)}}`,
    fault: undefined,
  },
  { what: "eleven levels and no more", text: "[".repeat(11) + "]".repeat(11), fault: DEEP },
  { what: "many objects beside each other", text: `[${"{},".repeat(40)}{}]`, fault: undefined },
  { what: "brackets in a string", text: `{"a":"${"[{".repeat(100)}"}`, fault: undefined },
  {
    what: "brackets behind an escaped quote",
    text: `{"a":"\\"${"[{".repeat(100)}","b":"\\\\"}`,
    fault: undefined,
  },
  {
    what: "brackets behind a string that ends with a backslash",
    text: `{"a":"\\\\","b":${"[".repeat(10)}${"]".repeat(10)},"c":"${LONG}"}`,
    fault: DEEP,
  },
  { what: "as many elements as may be", text: `[${numbers(100)}]`, fault: undefined },
  { what: "one element too many", text: `[${numbers(101)}]`, fault: WIDE },
  { what: "members of many objects", text: `[${'{"a":1,"b":2},'.repeat(50)}{}]`, fault: WIDE },
  { what: "as many members as an object may have", text: `{${members(40)}}`, fault: undefined },
  { what: "one member too many", text: `{${members(41)}}`, fault: NAMED },
  {
    what: "an inner object with one member too many",
    text: `{"a":[{},{"b":{${members(41)}}}]}`,
    fault: NAMED,
  },
  {
    what: "as many members on both sides of an object that has as many",
    text: `{${members(19)},"b":{${members(40)}},${members(20)}}`,
    fault: undefined,
  },
  {
    what: "one member too many, on both sides of an object",
    text: `{${members(20)},"b":{${members(30)}},${members(20)}}`,
    fault: NAMED,
  },
  { what: "commas in a string", text: `{"a":"${",".repeat(500)}"}`, fault: undefined },
];

for (const { what, text, fault } of CASES) {
  Deno.test({
    name: `boundsFault of ${what} is ${fault}`,
    fn: () => assert.equal(boundsFault(text, BOUNDS), fault),
  });
}
