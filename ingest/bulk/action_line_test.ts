import assert from "node:assert/strict";
import { isOperatingError } from "../../shared/base/errors.ts";
import { type ActionLine, ActionLines } from "./action_line.ts";
import type { LineFault } from "./body_lines.ts";

const TAKEN: readonly { text: string; action: ActionLine }[] = [
  { text: `{"index":{}}`, action: { action: "index", index: undefined, id: undefined } },
  {
    text: ` {"create" : {"_index":"a","_id":"1"}}\r`,
    action: { action: "create", index: "a", id: "1" },
  },
  {
    text:
      `{"index":{"_index":"a","_id":7,"_type":"_doc","routing":null,"dynamic_templates":{"x":[]}}}`,
    action: { action: "index", index: "a", id: "7" },
  },
  {
    text: `{"index":{"_index":"a","_id":1234567890123456789}}`,
    action: { action: "index", index: "a", id: "1234567890123456789" },
  },
  {
    text: `{"delete":{"_id":null}}`,
    action: { action: "delete", index: undefined, id: undefined },
  },
  {
    text: `{"index":{"_index":"a"},"attempts":0}`,
    action: { action: "index", index: "a", id: undefined },
  },
  { text: `{"update":{"_index":""}}`, action: { action: "update", index: "", id: undefined } },
];

for (const { text, action } of TAKEN) {
  Deno.test({
    name: `ActionLines takes ${text}`,
    fn: () => {
      const lines = new ActionLines();
      assert.deepEqual(lines.parse(text, 1), action);
      assert.deepEqual(lines.parse(text, 3), action);
    },
  });
}

const REFUSED: readonly { text: string | LineFault; names: string }[] = [
  { text: "", names: "no JSON object" },
  { text: "[]", names: "no JSON object: []" },
  { text: `{"index":{}`, names: `no JSON object: {"index":{}` },
  { text: "{}", names: "its members are" },
  { text: `{"index":{},"create":{}}`, names: "its members are index, create" },
  { text: `{"attempts":0,"index":{}}`, names: "its members are attempts, index" },
  { text: `{"upsert":{}}`, names: "its members are upsert" },
  { text: `{"constructor":{}}`, names: "its members are constructor" },
  { text: `{"index":null}`, names: "index is no object" },
  { text: `{"index":[]}`, names: "index is no object" },
  { text: `{"index":1234567890123456789}`, names: "index is no object" },
  { text: `{"index":{"_index":["a"]}}`, names: `_index is ["a"], not a string` },
  { text: `{"index":{"_id":{"a":1}}}`, names: `_id is {"a":1}, not a string` },
  { text: `{"message":"${"x".repeat(500)}"}`, names: "its members are message" },
  {
    text: `{"index":{"_index":${"[".repeat(1e6)}${"]".repeat(1e6)}}}`,
    names: "it nests deeper than",
  },
  { text: `{"index":{"_id":"${"x".repeat(70_000)}"}}`, names: "it has more than 65536 characters" },
  { text: { fault: "is not UTF-8" }, names: "it is not UTF-8" },
];

for (const { text, names } of REFUSED) {
  Deno.test({
    name: `ActionLines refuses ${
      typeof text === "string" ? text.slice(0, 40) : text.fault
    } naming the line and why`,
    fn: () => {
      const lines = new ActionLines();
      lines.parse(`{"index":{}}`, 1);
      assert.throws(
        () => lines.parse(text, 41),
        (error) =>
          isOperatingError(error, "invalid_argument") && error.message.includes("line 41") &&
          error.message.includes(names) && error.message.length < 400,
      );
    },
  });
}
