import { deepStrictEqual } from "node:assert/strict";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import type { Column } from "../../schema/schema.ts";
import { TRACES_SCHEMA } from "../../schema/traces.ts";
import type { Predicate } from "../pruning/predicate.ts";
import { soughtTraces } from "./sought_traces.ts";

const ID = "00112233445566778899aabbccddeeff";
const OTHER = "f".repeat(32);
const WORDS = { high: 0x8899aabb | 0, low: 0xccddeeff | 0 };
const { columns: LOGS } = EVENTS_SCHEMA;
const { columns: SPANS } = TRACES_SCHEMA;
const ATTRIBUTES: Column = { id: 8, name: "attributes", type: "string", required: false };
const TRACE_ID: Column = { id: 3, name: "trace_id", type: "string", required: true };

type Condition = Predicate<Column>;

function said(
  values: readonly string[],
  { column = ATTRIBUTES, name = "trace_id" } = {},
): Condition {
  return { kind: "attribute", column, name, values };
}

function equals(values: readonly (string | bigint)[], column = TRACE_ID): Condition {
  return { kind: "compare", column, operator: "=", values };
}

const MISSING: Condition = { kind: "all" };

Deno.test("soughtTraces() takes the attribute of logs and the column of spans", () => {
  deepStrictEqual(soughtTraces(said([ID]), LOGS), [WORDS]);
  deepStrictEqual(soughtTraces(equals([ID]), SPANS), [WORDS]);
  // What is no id is in no frame that tells its ids.
  deepStrictEqual(soughtTraces(equals(["none"]), SPANS), []);
  deepStrictEqual(soughtTraces(said([ID, "none"]), LOGS), [WORDS]);
});

Deno.test("soughtTraces() tells nothing of other attributes and columns, whatever their names", () => {
  const spansAttributes = {
    ...ATTRIBUTES,
    id: SPANS.find(({ name }) => name === "attributes")?.id ?? 0,
  };
  const long: Column = { id: 77, name: "trace_id", type: "long", required: false };
  for (
    const [condition, columns] of [
      [said([ID], { name: "span_id" }), LOGS],
      [said([ID], { column: { ...ATTRIBUTES, id: 7 } }), LOGS],
      [said([ID], { column: spansAttributes }), SPANS],
      [equals([ID], { ...TRACE_ID, id: 4 }), SPANS],
      [equals([5n], long), [...LOGS, long]],
      [{ kind: "compare", column: TRACE_ID, operator: ">=", values: [ID] }, SPANS],
      [MISSING, LOGS],
    ] satisfies [Condition, readonly Column[]][]
  ) deepStrictEqual(soughtTraces(condition, columns), undefined);
});

Deno.test("soughtTraces() takes one of several conditions, and each of alternatives", () => {
  const both: Condition = { kind: "and", of: [MISSING, said([ID])] };
  deepStrictEqual(soughtTraces(both, LOGS), [WORDS]);
  const either: Condition = { kind: "or", of: [said([ID]), said([OTHER])] };
  deepStrictEqual(soughtTraces(either, LOGS), [WORDS, { high: -1, low: -1 }]);
  deepStrictEqual(soughtTraces({ kind: "or", of: [said([ID]), MISSING] }, LOGS), undefined);
});
