import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { EventDocumentBuilder } from "./event_documents.ts";
import { rowsOf } from "./rows.ts";

Deno.test({
  name: "EventDocumentBuilder makes a batch of the documents it took",
  fn() {
    const builder = new EventDocumentBuilder();
    builder.add({ message: "one", timestamp: 1, k: "v" }, { nowNs: 0n });
    builder.addLine(`{"message":"zwei ü","host.name":"h"}`, { nowNs: 2_500n });
    assert.equal(builder.rows, 2);
    assert.deepEqual(rowsOf(builder.finish()), [
      {
        timestamp: 1_000_000n,
        timestamp_ns: 1_000_000_000n,
        host: "unknown",
        source: "bulk",
        sourcetype: "bulk:doc",
        index: "main",
        raw: "one",
        attributes: `{"k":"v"}`,
      },
      {
        timestamp: 2n,
        timestamp_ns: 2_500n,
        host: "h",
        source: "bulk",
        sourcetype: "bulk:doc",
        index: "main",
        raw: "zwei ü",
        attributes: null,
      },
    ]);
    assert.equal(builder.rows, 0);
  },
});

Deno.test({
  name: "EventDocumentBuilder names line and value of a refused document and keeps the others",
  fn() {
    const builder = new EventDocumentBuilder();
    builder.add({ message: "kept" }, { nowNs: 1n });
    for (
      const { add, names } of [
        { add: () => builder.add({ timestamp: "x" }, { nowNs: 1n }), names: `Line 2: ` },
        { add: () => builder.add({ timestamp: "x" }, { nowNs: 1n, line: 17 }), names: `Line 17: ` },
        { add: () => builder.addLine("{", { nowNs: 1n, line: 18 }), names: `Line 18: ` },
      ]
    ) {
      assert.throws(
        add,
        (error: unknown) =>
          isOperatingError(error, "invalid_argument") && error.message.startsWith(names),
      );
    }
    assert.deepEqual(rowsOf(builder.finish()).map((row) => row.raw), ["kept"]);
  },
});
