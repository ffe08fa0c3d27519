import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { concatBytes, utf8 } from "../../shared/base/bytes.ts";
import { isOperatingError } from "../../shared/base/errors.ts";
import type { ColumnBatch } from "../../shared/columns/batch.ts";
import { COLUMN_TOO_LARGE } from "../../shared/columns/byte_builder.ts";
import { decodeBody, DecodeThread, type OtlpForm } from "./decode_thread.ts";
import { decodeLogsJson } from "./logs/logs_json.ts";
import { decodeLogsProtobuf } from "./logs/logs_protobuf.ts";
import type { DecodeOptions } from "./request_decoder.ts";
import { SHORT } from "./request_limits.ts";
import { decodeSpansJson } from "./spans/spans_json.ts";
import { decodeSpansProtobuf } from "./spans/spans_protobuf.ts";
import { WireWriter } from "./wire/wire_writer.ts";

const NOW_NS = 1_763_000_000_000_000_000n;
const ID = "0102030405060708";

const DECODE: Readonly<
  Record<OtlpForm, (body: Uint8Array, options: DecodeOptions) => ColumnBatch>
> = {
  "logs protobuf": decodeLogsProtobuf,
  "logs json": decodeLogsJson,
  "traces protobuf": decodeSpansProtobuf,
  "traces json": decodeSpansJson,
};

interface RequestOptions {
  readonly records: number;
  /** Text of the body of each record, or the name of each span. */
  readonly text: string;
  /** How many attributes the resource has. */
  readonly attributes?: number;
  /** Each with its records, and a name of its own. */
  readonly resources?: number;
}

function requestOf(form: OtlpForm, options: RequestOptions): Uint8Array<ArrayBuffer> {
  return form.endsWith("protobuf") ? protobufOf(form, options) : utf8(jsonOf(form, options));
}

function protobufOf(
  form: OtlpForm,
  { records, text, attributes = 1, resources = 1 }: RequestOptions,
): Uint8Array<ArrayBuffer> {
  const wire = new WireWriter();
  const within = (tag: number, write: () => void) => {
    const start = wire.start(tag);
    write();
    wire.end(start);
  };
  const record = () => {
    if (form === "logs protobuf") return within(0x2a, () => wire.string(0x0a, text));
    wire.bytes(0x0a, utf8(ID));
    wire.bytes(0x12, utf8(ID.slice(0, 8)));
    wire.string(0x2a, text);
  };
  const attribute = (name: string) =>
    within(0x0a, () => {
      wire.string(0x0a, name);
      within(0x12, () => wire.string(0x0a, "é"));
    });
  for (let resource = 0; resource < resources; resource += 1) {
    within(0x0a, () => {
      within(0x0a, () => {
        for (let at = 0; at < attributes; at += 1) attribute(`${resource}-${at}`);
      });
      within(0x12, () => {
        for (let at = 0; at < records; at += 1) within(0x12, record);
      });
    });
  }
  return wire.out.take();
}

function jsonOf(form: OtlpForm, { records, text, attributes = 1 }: RequestOptions): string {
  const one = form === "logs json"
    ? { body: { stringValue: text } }
    : { traceId: ID + ID, spanId: ID, name: text };
  const resource = {
    attributes: Array.from({ length: attributes }, (_, at) => ({
      key: `name-${at}`,
      value: { stringValue: "é" },
    })),
  };
  const all = Array(records).fill(one);
  return JSON.stringify(
    form === "logs json"
      ? { resourceLogs: [{ resource, scopeLogs: [{ logRecords: all }] }] }
      : { resourceSpans: [{ resource, scopeSpans: [{ spans: all }] }] },
  );
}

/** Counts what is handed over. */
class CountedThread extends DecodeThread {
  runs = 0;

  override decode(...args: Parameters<DecodeThread["decode"]>) {
    this.runs += 1;
    return super.decode(...args);
  }
}

const FORMS = Object.keys(DECODE) as OtlpForm[];

/** Without what only its holder needs. */
function rowsOf({ schema, rows, columns }: ColumnBatch) {
  return { schema, rows, columns };
}

Deno.test({
  name: "decodeBody gives of a long body what the decoder does, from the thread, and the body",
  async fn() {
    using thread = new CountedThread();
    for (const [at, form] of FORMS.entries()) {
      const body = requestOf(form, { records: 20_000, text: "a text of thirty characters or so" });
      assert.ok(body.byteLength > SHORT.bodyBytesMax);
      const expected = rowsOf(DECODE[form](body, { nowNs: NOW_NS }));
      const copy = body.slice();
      const request = { form, body, nowNs: NOW_NS, thread };
      const { batch, body: returned } = await decodeBody(DECODE[form], request);
      assert.equal(thread.runs, at + 1, form);
      assert.deepEqual(rowsOf(batch), expected, form);
      assert.deepEqual(returned, copy, form);
      batch.release?.();
      assert.ok(
        batch.columns.every(({ values }) => values.byteLength === 0),
        "memory is given back",
      );
    }
  },
});

const BECOMES_LONG: readonly (RequestOptions & { form: OtlpForm })[] = [
  // Rows.
  { form: "logs protobuf", records: 500, text: "text", attributes: 4_000 },
  { form: "logs json", records: 500, text: "text", attributes: 4_000 },
  // Attributes, and scopes with what their records share.
  { form: "traces protobuf", records: 1, text: "name", attributes: 20_001 },
  { form: "logs protobuf", records: 1, text: "", resources: 2_001 },
];

Deno.test({
  name: "decodeBody hands over what is short but becomes long, and nothing else that is short",
  async fn() {
    using thread = new CountedThread();
    for (const form of FORMS) {
      const few = requestOf(form, { records: 500, text: "text" });
      await decodeBody(DECODE[form], { form, body: few, nowNs: NOW_NS, thread });
    }
    assert.equal(thread.runs, 0);
    for (const [at, { form, ...options }] of BECOMES_LONG.entries()) {
      const body = requestOf(form, options);
      assert.ok(body.byteLength <= SHORT.bodyBytesMax);
      const expected = rowsOf(DECODE[form](body, { nowNs: NOW_NS }));
      const { batch } = await decodeBody(DECODE[form], { form, body, nowNs: NOW_NS, thread });
      assert.equal(thread.runs, at + 1, form);
      assert.deepEqual(rowsOf(batch), expected, form);
    }
  },
});

/** Each is refused by any decoder. */
const REFUSED: readonly { name: string; form: OtlpForm; body: () => Uint8Array }[] = [
  {
    name: "no protobuf",
    form: "logs protobuf",
    body: () => new Uint8Array(SHORT.bodyBytesMax + 1).fill(0xff),
  },
  {
    name: "no JSON",
    form: "traces json",
    body: () => utf8(" ".repeat(SHORT.bodyBytesMax) + "{"),
  },
  {
    name: "rows that outgrow a column",
    form: "logs protobuf",
    body: () => requestOf("logs protobuf", { records: 7_000, text: "", attributes: 4_000 }),
  },
];

for (const { name, form, body } of REFUSED) {
  Deno.test({
    name: `decodeBody refuses on the thread as without one: ${name}`,
    async fn() {
      using thread = new DecodeThread();
      const errors = [];
      for (const at of [undefined, thread]) {
        const request = { form, body: body(), nowNs: NOW_NS, thread: at };
        const error: unknown = await decodeBody(DECODE[form], request).catch((thrown) => thrown);
        assert.ok(isOperatingError(error), String(error));
        errors.push({ code: error.code, message: error.message, reason: error.reason });
      }
      assert.deepEqual(errors[0], errors[1]);
      if (name.includes("column")) assert.equal(errors[0]?.reason, COLUMN_TOO_LARGE);
    },
  });
}

Deno.test({
  name: "a body that fails on the thread ends itself only, and a part of a buffer is copied",
  async fn() {
    using thread = new DecodeThread();
    const body = requestOf("logs protobuf", { records: 30_000, text: "some text of a row" });
    const within = concatBytes([utf8("12345"), body, utf8("67890")]);
    const part = within.subarray(5, 5 + body.byteLength);
    const nowNs = NOW_NS;
    const good = { form: "logs protobuf", body: part, nowNs, thread } as const;
    const bad = { ...good, body: new Uint8Array(SHORT.bodyBytesMax + 1).fill(0xff) };
    const [first, refused, second] = await Promise.allSettled([
      decodeBody(decodeLogsProtobuf, good),
      decodeBody(decodeLogsProtobuf, bad),
      decodeBody(decodeLogsProtobuf, good),
    ]);
    assert.deepEqual([first, refused, second].map(({ status }) => status), [
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    assert.equal(within.byteLength, body.byteLength + 10);
    const ofBuffer = Buffer.from(within.buffer, 5, body.byteLength);
    const { batch } = await decodeBody(decodeLogsProtobuf, { ...good, body: ofBuffer });
    assert.equal(batch.rows, 30_000);
    assert.equal(within.byteLength, body.byteLength + 10);
  },
});
