import { strictEqual } from "node:assert/strict";
import { carriesType } from "./carried_types.ts";

const TYPES: readonly (readonly [type: string, carries: boolean])[] = [
  ["BIGINT", true],
  ["HUGEINT", true],
  ["DECIMAL(38,9)", true],
  ["TIMESTAMP WITH TIME ZONE", true],
  ["VARCHAR[]", true],
  ["VARCHAR[3]", false],
  ["INTERVAL", false],
  ["UUID", false],
  ["UUID[]", false],
  ["TIMESTAMP_S", false],
  ["ENUM('a', 'b')", false],
  ['STRUCT(a INTEGER, "b, (c" VARCHAR)', true],
  ["STRUCT(a INTEGER, b UUID)", false],
  ["STRUCT(a STRUCT(b DECIMAL(4,1), c BIGINT[]))", true],
  ["MAP(VARCHAR, STRUCT(a DOUBLE)[])", true],
  ["MAP(VARCHAR, INTERVAL)", false],
  ["UNION(a INTEGER, b VARCHAR)", false],
];

for (const [type, carries] of TYPES) {
  Deno.test({
    name: `carriesType ${type} ${carries ? "crosses" : "stays"}`,
    fn: () => strictEqual(carriesType(type), carries),
  });
}
