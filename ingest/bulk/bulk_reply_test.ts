import assert from "node:assert/strict";
import { leastOf } from "../../shared/testing/least_of.ts";
import { bulkReplyText } from "./bulk_reply.ts";
import type { BulkItem } from "./bulk_items.ts";
import { replyFieldsOf } from "./filter_path.ts";

const STORED: BulkItem = { action: "create", index: "x", id: "a", error: undefined };
const REFUSED: BulkItem = {
  action: "index",
  index: 'y"',
  id: "b",
  error: { status: 400, type: "document_parsing_exception", reason: 'bad "one"' },
};
const AGAIN: BulkItem = {
  ...STORED,
  error: { status: 429, type: "es_rejected_execution_exception", reason: "later" },
};

/**
 * docs/clients.md#a-bulk-reply-that-all-accept without a filter; with those of
 * docs/clients.md#logstash and #collectors-elasticsearch-exporter.
 */
const REPLIES: readonly { filter: string | null; items: readonly BulkItem[]; text: string }[] = [
  {
    filter: null,
    items: [STORED],
    text: `{"took":3,"errors":false,"items":[{"create":{"_index":"x","_id":"a","status":201}}]}`,
  },
  {
    filter: null,
    items: [STORED, REFUSED],
    text: `{"took":3,"errors":true,"items":[{"create":{"_index":"x","_id":"a","status":201}},` +
      `{"index":{"_index":"y\\"","_id":"b","status":400,` +
      `"error":{"type":"document_parsing_exception","reason":"bad \\"one\\""}}}]}`,
  },
  {
    filter: "errors,items.*.error,items.*.status",
    items: [STORED, AGAIN],
    text: `{"errors":true,"items":[{"create":{"status":201}},{"create":{"status":429,` +
      `"error":{"type":"es_rejected_execution_exception","reason":"later"}}}]}`,
  },
  {
    filter: "items.*._index,items.*.status,items.*.error.type,items.*.error.reason",
    items: [STORED, AGAIN],
    text: `{"items":[{"create":{"_index":"x","status":201}},{"create":{"_index":"x","status":429,` +
      `"error":{"type":"es_rejected_execution_exception","reason":"later"}}}]}`,
  },
  {
    filter: "items.*._index,items.*.status,items.*.error.type,items.*.failure_store",
    items: [AGAIN],
    text: `{"items":[{"create":{"_index":"x","status":429,` +
      `"error":{"type":"es_rejected_execution_exception"}}}]}`,
  },
  { filter: "errors", items: [STORED], text: `{"errors":false}` },
  { filter: `${"**.".repeat(1_300)}errors`, items: [STORED], text: `{"errors":false}` },
  { filter: `${"**.*.".repeat(800)}errors`, items: [STORED], text: `{}` },
  { filter: "items.*.error", items: [STORED], text: `{}` },
  {
    filter: "items.*.error.reason",
    items: [STORED, AGAIN],
    text: `{"items":[{"create":{"error":{"reason":"later"}}}]}`,
  },
  {
    filter: "took,items.index.*",
    items: [STORED, REFUSED],
    text: `{"took":3,"items":[{"index":{"_index":"y\\"","_id":"b","status":400,` +
      `"error":{"type":"document_parsing_exception","reason":"bad \\"one\\""}}}]}`,
  },
  {
    filter: "-took,-items.*._id",
    items: [STORED],
    text: `{"errors":false,"items":[{"create":{"_index":"x","status":201}}]}`,
  },
  { filter: "**.st*us", items: [STORED], text: `{"items":[{"create":{"status":201}}]}` },
  { filter: "nothing.there", items: [STORED], text: `{}` },
];

for (const { filter, items, text } of REPLIES) {
  Deno.test({
    name: `bulkReplyText with filter_path ${filter} of ${items.length} items, to the byte`,
    fn: async () =>
      assert.equal(await bulkReplyText({ tookMs: 3, items }, replyFieldsOf(filter)), text),
  });
}

Deno.test({
  name: "replyFieldsOf keeps everything for an empty or excessive filter, in little time",
  fn: async () => {
    const everything = replyFieldsOf(null);
    assert.deepEqual(replyFieldsOf(""), everything);
    assert.deepEqual(replyFieldsOf("a,".repeat(100)), everything);
    assert.deepEqual(replyFieldsOf("x".repeat(10_000)), everything);
    const tookMs = await leastOf(500, () => {
      const begun = performance.now();
      replyFieldsOf(Array.from({ length: 60 }, () => "**.**.**.**.**.**.**.x").join(","));
      return performance.now() - begun;
    });
    assert.ok(tookMs < 500, `${tookMs} ms`);
  },
});
