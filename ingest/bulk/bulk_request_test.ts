import assert from "node:assert/strict";
import fc from "fast-check";
import { isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import { rowsOf } from "../../shared/columns/rows.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import type { TableSchema } from "../../shared/schema/schema.ts";
import { bulkReplyText } from "./bulk_reply.ts";
import { replyFieldsOf } from "./filter_path.ts";
import { LINE_BYTES_MAX } from "./body_lines.ts";
import { decodeBulk, REQUEST_ACTIONS_MAX, REQUEST_INDEXES_MAX } from "./bulk_request.ts";
import { EventDocumentBuilders } from "./document_builders.ts";
import { arriving, cutInPieces } from "../../tests/doubles/bulk_pieces.ts";

const TYPED: TableSchema = {
  columns: [...EVENTS_SCHEMA.columns, { id: 9, name: "status", type: "int", required: true }],
  tags: [],
};
const FOREIGN: TableSchema = { columns: TYPED.columns.slice(1), tags: [] };
const NOW_NS = 1_763_672_645_123_456_789n;
const builders = new EventDocumentBuilders(({ index }) => ({
  schema: index === "typed" ? TYPED : index === "foreign" ? FOREIGN : EVENTS_SCHEMA,
}));

/** `sizes` are those of the pieces that the body arrives in. */
function decode(body: string | Uint8Array, pathIndex?: string, sizes: readonly number[] = []) {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return decodeBulk(arriving(cutInPieces(bytes, sizes)), {
    tenant: "default",
    pathIndex,
    nowNs: NOW_NS,
    idPrefix: "P",
    builders,
    charge: () => {},
  });
}

/** `index:raw` of every row, index by index. */
function rowTexts(decoded: Awaited<ReturnType<typeof decode>>): string[] {
  return decoded.indexes.flatMap(({ index, batch }) =>
    rowsOf(batch).map((row) => `${index}:${row.raw}`)
  );
}

/** `action index id status` of every item. */
function itemTexts(decoded: Awaited<ReturnType<typeof decode>>): string[] {
  return decoded.items.map(({ action, index, id, error }) =>
    `${action} ${index} ${id} ${error === undefined ? 201 : `${error.status} ${error.type}`}`
  );
}

Deno.test({
  name: "decodeBulk sorts documents by index and answers actions in their order",
  fn: async () => {
    const decoded = await decode(
      [
        `{"index":{"_index":"b","_id":"1"}}`,
        `{"message":"one"}`,
        "",
        `{"create":{}}\r`,
        `{"message":"two"}\r`,
        `{"delete":{"_index":"b","_id":"1"}}`,
        `{"update":{"_index":"b","_id":"1"}}`,
        `{"doc":{"message":"no"}}`,
        `{"index":{"_index":"b"}}`,
        `{"message":`,
        `{"index":{"_index":"Upper"}}`,
        `{"message":"no"}`,
        `{"index":{"_index":"traces"}}`,
        `{"message":"no"}`,
        `{"index":{"_index":"b"}}`,
        `{"message":"three","timestamp":"soon"}`,
        `{"index":{"_index":"b"}}`,
        `{"message":"four"}`,
        `{"create":{"_index":"b","_id":""}}`,
        `{"message":"no"}`,
      ].join("\n"),
      "from-path",
    );
    assert.deepEqual(itemTexts(decoded), [
      "index b 1 201",
      "create from-path P1 201",
      "delete b 1 400 illegal_argument_exception",
      "update b 1 400 illegal_argument_exception",
      "index b P4 400 document_parsing_exception",
      "index Upper P5 400 invalid_index_name_exception",
      "index traces P6 400 invalid_index_name_exception",
      "index b P7 400 document_parsing_exception",
      "index b P8 201",
      "create b  400 illegal_argument_exception",
    ]);
    assert.match(
      decoded.items.at(-1)?.error?.reason ?? "",
      /^if _id is specified it must not be empty/,
    );
    assert.deepEqual(rowTexts(decoded), ["b:one", "b:four", "from-path:two"]);
    assert.deepEqual(decoded.indexes.map(({ items }) => items.map(({ id }) => id)), [
      ["1", "P8"],
      ["P1"],
    ]);
    const [row] = rowsOf(decoded.indexes[0]?.batch ?? assert.fail());
    assert.equal(row?.attributes, `{"_id":"1"}`);
    assert.equal(row?.timestamp_ns, NOW_NS);
  },
});

Deno.test({
  name: "decodeBulk refuses a document past its length, and takes the next one",
  fn: async () => {
    // Characters of two bytes each.
    const ofBytes = (bytes: number) => `{"message":"${"é".repeat((bytes - 14) / 2)}"}`;
    const documents = [ofBytes(LINE_BYTES_MAX), ofBytes(LINE_BYTES_MAX + 2), "{}"];
    const decoded = await decode(documents.map((text) => `{"index":{}}\n${text}\n`).join(""), "a");
    assert.deepEqual(itemTexts(decoded), [
      "index a P0 201",
      "index a P1 400 document_parsing_exception",
      "index a P2 201",
    ]);
    assert.match(
      decoded.items[1]?.error?.reason ?? "",
      /^Line 4: .*16777218 bytes, more than the 16777216/,
    );
  },
});

Deno.test({
  name: "decodeBulk holds documents to the columns of their index's table",
  fn: async () => {
    for (const _again of [1, 2]) {
      const decoded = await decode(
        [
          `{"index":{"_index":"typed","_id":"1"}}`,
          `{"message":"one","status":200,"k":"v"}`,
          `{"index":{"_index":"typed","_id":"2"}}`,
          `{"message":"two"}`,
          `{"index":{"_index":"typed","_id":"3"}}`,
          `{"message":"three","status":"high"}`,
          `{"index":{"_index":"plain","_id":"4"}}`,
          `{"message":"four","status":"high"}`,
          `{"index":{"_index":"foreign","_id":"5"}}`,
          `{"message":"five"}`,
        ].join("\n"),
      );
      assert.deepEqual(itemTexts(decoded), [
        "index typed 1 201",
        "index typed 2 400 document_parsing_exception",
        "index typed 3 400 document_parsing_exception",
        "index plain 4 201",
        "index foreign 5 400 document_parsing_exception",
      ]);
      assert.match(decoded.items[1]?.error?.reason ?? "", /status, which is required/);
      assert.match(decoded.items[2]?.error?.reason ?? "", /status is "high", not int/);
      assert.match(decoded.items[4]?.error?.reason ?? "", /table without column timestamp/);
      const [typed, plain] = decoded.indexes.map(({ batch }) => rowsOf(batch));
      assert.equal(typed?.[0]?.status, 200);
      assert.equal(typed?.[0]?.attributes, `{"_id":"1","k":"v"}`);
      assert.equal(plain?.[0]?.attributes, `{"_id":"4","status":"high"}`);
    }
  },
});

const NAMES: readonly { name: string | undefined; status: number }[] = [
  { name: "a", status: 201 },
  { name: "logs-app.x", status: 201 },
  { name: "0..b", status: 201 },
  { name: "a".repeat(128), status: 201 },
  { name: "a".repeat(129), status: 400 },
  { name: undefined, status: 400 },
  { name: "", status: 400 },
  { name: "..", status: 400 },
  { name: ".hidden", status: 400 },
  { name: "a/b", status: 400 },
  { name: "a%2fb", status: 400 },
  { name: "a\u0000", status: 400 },
  { name: "ä", status: 400 },
  { name: "query_audit", status: 400 },
];

for (const { name, status } of NAMES) {
  Deno.test({
    name: `decodeBulk answers index ${JSON.stringify(name)?.slice(0, 40)} with ${status}`,
    fn: async () => {
      for (
        const decoded of [
          await decode(`${JSON.stringify({ index: { _index: name } })}\n{}`),
          await decode(`{"index":{}}\n{}`, name),
        ]
      ) {
        assert.equal(decoded.items[0]?.error?.status ?? 201, status);
        assert.equal(decoded.indexes.length, status === 201 ? 1 : 0);
      }
    },
  });
}

const REFUSED: readonly { body: string; names: string }[] = [
  { body: "", names: "no action" },
  { body: "\r\n \n", names: "no action" },
  { body: `{"index":{}}\n`, names: "no document" },
  { body: `{"index":{}}\n{}\n{"inde":{}}\n{}`, names: "Malformed action line 3" },
  { body: `{"index":{}}\n{}\n{"a":1}\n`, names: "Malformed action line 3" },
  { body: `{"delete":{}}\n{"a":1}\n`, names: "Malformed action line 2" },
];

for (const { body, names } of REFUSED) {
  Deno.test({
    name: `decodeBulk refuses ${JSON.stringify(body)} whole and keeps nothing of it`,
    fn: async () => {
      await assert.rejects(
        decode(body, "a"),
        (error) => isOperatingError(error, "invalid_argument") && error.message.includes(names),
      );
      assert.deepEqual(rowTexts(await decode(`{"index":{}}\n{"message":"next"}`, "a")), ["a:next"]);
    },
  });
}

Deno.test({
  name: "decodeBulk asks to send documents of too many indexes again",
  fn: async () => {
    const count = REQUEST_INDEXES_MAX + 2;
    const lines = Array.from({ length: count }, (_, i) => `{"index":{"_index":"i${i}"}}\n{}\n`);
    const decoded = await decode(`${lines.join("")}${lines[0]}`);
    assert.equal(decoded.indexes.length, REQUEST_INDEXES_MAX);
    const again = decoded.items.filter(({ error }) => error?.status === 429);
    assert.deepEqual(again.map(({ index }) => index), [`i${count - 2}`, `i${count - 1}`]);
    assert.equal(decoded.items.at(-1)?.error, undefined);
  },
});

const line = fc.oneof(
  fc.constantFrom(
    `{"index":{"_index":"a"}}`,
    `{"create":{"_index":"b","_id":"1"}}`,
    `{"delete":{"_index":"a"}}`,
    `{"update":{}}`,
    `{"message":"m"}`,
    "{}",
    "",
    `{"index":`,
    "[]",
    "null",
    `{"timestamp":1e300}`,
    "\u2028",
  ),
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.json(),
);

Deno.test({
  name: "decodeBulk answers or refuses any lines and any damaged bytes, one item an action",
  fn: async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 12 }),
        fc.nat(),
        fc.nat(255),
        async (lines, at, byte) => {
          const bytes = new TextEncoder().encode(lines.join("\n"));
          for (const damaged of [false, true]) {
            if (damaged && bytes.length > 0) bytes[at % bytes.length] = byte;
            try {
              const decoded = await decode(bytes, "p");
              const stored = decoded.items.filter(({ error }) => error === undefined).length;
              const rows = decoded.indexes.reduce((sum, { batch }) => sum + batch.rows, 0);
              assert.equal(rows, stored);
            } catch (error) {
              assert.ok(isOperatingError(error, "invalid_argument"), String(error));
            }
          }
        },
      ),
      { numRuns: 2_000 },
    );
  },
});

type Outcome = { items: string[]; reasons: (string | undefined)[]; rows: string[] } | string;

async function outcomeOf(body: Uint8Array, sizes: readonly number[]): Promise<Outcome> {
  try {
    const decoded = await decode(body, "p", sizes);
    const reasons = decoded.items.map(({ error }) => error?.reason);
    return { items: itemTexts(decoded), reasons, rows: rowTexts(decoded) };
  } catch (error) {
    return String(error);
  }
}

Deno.test({
  name: "decodeBulk gives the same for a body in any pieces as for the whole",
  fn: async () => {
    const document = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 20 }).map((message) => JSON.stringify({ message })),
      line,
    );
    const pairs = fc.tuple(
      fc.constantFrom(`{"index":{"_index":"a"}}`, `{"create":{"_id":"é"}}`, `{"update":{}}`, "{}"),
      document,
      fc.constantFrom("\n", "\r\n", "\n\n"),
    ).map(([action, text, end]) => `${action}${end}${text}${end}`);
    const outcomes = { refused: 0, answered: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(pairs, { minLength: 1, maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 6 }),
        async (lines, sizes) => {
          const body = new TextEncoder().encode(lines.join(""));
          const whole = await outcomeOf(body, []);
          assert.deepEqual(await outcomeOf(body, sizes), whole);
          outcomes[typeof whole === "string" ? "refused" : "answered"] += 1;
        },
      ),
      { numRuns: 600 },
    );
    assert.ok(outcomes.refused > 50 && outcomes.answered > 50, JSON.stringify(outcomes));
  },
});

Deno.test({
  name: "decodeBulk keeps nothing of a body that breaks off, also not for the next request",
  fn: async () => {
    async function* broken() {
      yield await Promise.resolve(new TextEncoder().encode(`{"index":{}}\n{"message":"lost"}\n`));
      throw new Error("gone");
    }
    const who = { tenant: "default", pathIndex: "a", idPrefix: "P" };
    const options = { ...who, nowNs: NOW_NS, builders, charge: () => {} };
    await assert.rejects(decodeBulk(broken(), options), /gone/);
    assert.deepEqual(rowTexts(await decode(`{"index":{}}\n{"message":"next"}`, "a")), ["a:next"]);
  },
});

Deno.test({
  name: "decodeBulk gives each builder back once, also when there is no memory for a batch",
  fn: async () => {
    const given: string[] = [];
    const taken = new Map<object, string>();
    const failing = {
      take: ({ index }: { index: string }) => {
        const builder = {
          addLine() {},
          clear() {},
          finish: () => {
            if (index === "b") throw new RangeError("Array buffer allocation failed");
            return { schema: EVENTS_SCHEMA, rows: 1, columns: [] };
          },
        };
        taken.set(builder, index);
        return builder;
      },
      giveBack: (builder: object) => void given.push(taken.get(builder) ?? "stranger"),
    };
    const body = ["a", "b", "c"].map((index) => `{"index":{"_index":"${index}"}}\n{}\n`).join("");
    const options = { tenant: "default", pathIndex: undefined, idPrefix: "P", charge: () => {} };
    const pieces = arriving([new TextEncoder().encode(body)]);
    const decoding = decodeBulk(pieces, { ...options, nowNs: NOW_NS, builders: failing });
    await assert.rejects(decoding, RangeError);
    assert.deepEqual(given, ["a", "b", "c"]);
  },
});

Deno.test({
  name: "decodeBulk charges each action, however short its line, and refuses more than are allowed",
  async fn() {
    const line = new TextEncoder().encode('{"delete":{}}\n');
    async function* actions(count: number) {
      const piece = new Uint8Array(line.byteLength * 1_000);
      for (let at = 0; at < 1_000; at += 1) piece.set(line, at * line.byteLength);
      for (let at = 0; at < count; at += 1_000) yield await Promise.resolve(piece);
    }
    let charged = 0;
    const charge = (bytes: number) => void (charged += bytes);
    const options = {
      ...{ tenant: "default", pathIndex: "a", idPrefix: "P" },
      nowNs: NOW_NS,
      builders,
      charge,
    };
    const { items } = await decodeBulk(actions(100_000), options);
    assert.equal(items.length, 100_000);
    assert.ok(charged >= 100_000 * 1_500, `${charged} bytes for 100,000 refusals`);
    await assert.rejects(
      decodeBulk(actions(REQUEST_ACTIONS_MAX + 1), options),
      (error) => isOperatingError(error, "too_large") && error.reason === "too_many_actions",
    );
    const full = () => {
      throw new OperatingError("unavailable", "no room");
    };
    await assert.rejects(decodeBulk(actions(1_000), { ...options, charge: full }), /no room/);
  },
});

Deno.test({
  name: "decodeBulk repeats no endless index of a path in its items",
  async fn() {
    const index = `${"x".repeat(4_000)}!`;
    const options = { tenant: "default", pathIndex: index, idPrefix: "P" };
    const body = new TextEncoder().encode('{"index":{}}\n{}\n'.repeat(1_000));
    async function* pieces() {
      yield await Promise.resolve(body);
    }
    const { items } = await decodeBulk(pieces(), {
      ...options,
      nowNs: NOW_NS,
      builders,
      charge: () => {},
    });
    assert.equal(items.length, 1_000);
    const reply = await bulkReplyText({ tookMs: 1, items }, replyFieldsOf(null));
    assert.match(reply, /Invalid index name \[x+\.\.\.\]/);
    assert.ok(reply.length < 1_000 * 600, `${reply.length} characters`);
  },
});

Deno.test({
  name:
    "decodeBulk refuses a number that no double holds and an _id beside its action's, naming them",
  fn: async () => {
    const documents = [`{"a":{"b":[1e400]}}`, `{"_id":"2"}`, `{"_id":"1","a":1}`, `{"a":-1e400}`];
    const decoded = await decode(
      documents.map((text) => `{"index":{"_index":"a","_id":"1"}}\n${text}\n`).join(""),
    );
    assert.deepEqual(itemTexts(decoded), [
      "index a 1 400 document_parsing_exception",
      "index a 1 400 document_parsing_exception",
      "index a 1 201",
      "index a 1 400 document_parsing_exception",
    ]);
    const reasons = decoded.items.map(({ error }) => error?.reason ?? "");
    assert.match(reasons[0] ?? "", /^Line 2: .* a\.b\[0\] is 1e400, greater than any double/);
    assert.match(reasons[1] ?? "", /^Line 4: .* _id is "2", and its action says "1"/);
    assert.match(reasons[3] ?? "", /^Line 8: .* a is -1e400/);
    const rows = decoded.indexes.flatMap(({ batch }) => rowsOf(batch));
    assert.deepEqual(rows.map(({ attributes }) => attributes), [`{"_id":"1","a":1}`]);
  },
});
