import assert from "node:assert/strict";
import { isOperatingError } from "../../../shared/base/errors.ts";
import { COLUMNS_MAX } from "../limits.ts";
import { MessageWriter } from "../wire/message_writer.ts";
import { toldColumns } from "./told_columns.ts";

const wide = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ name: `c${at}`, type: "INTEGER" }));

Deno.test({
  name: "toldColumns refuses more columns than a RowDescription counts, and tells as many",
  async fn() {
    const told = toldColumns({}, wide(COLUMNS_MAX), []);
    const sent: Uint8Array[] = [];
    const writer = new MessageWriter({
      isTls: false,
      read: () => Promise.resolve(null),
      write: (bytes) => Promise.resolve(void sent.push(bytes.slice())),
      close: () => {},
    }, 1_000);
    writer.rowDescription(told);
    await writer.flush();
    const [{ buffer } = new Uint8Array()] = sent;
    assert.equal(new DataView(buffer).getInt16(5), COLUMNS_MAX);
    assert.throws(
      () => toldColumns({}, wide(COLUMNS_MAX + 1), []),
      (error) => isOperatingError(error) && error.details?.["sqlstate"] === "54011",
    );
  },
});
