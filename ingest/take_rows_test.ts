import assert from "node:assert/strict";
import { isOperatingError } from "../shared/base/errors.ts";
import { batchOfRows } from "../shared/columns/rows.ts";
import { ByteBudget } from "../shared/http/byte_budget.ts";
import { chargeRows } from "./take_rows.ts";

const SCHEMA = {
  columns: [{ id: 1, name: "raw", type: "string", required: true }],
  tags: [],
} as const;
const BUDGET_BYTES = 1_000_000;
/** Of the offsets of one row. */
const OFFSET_BYTES = 8;

Deno.test({
  name:
    "chargeRows charges what rows take beyond eight times their request, and releases what does not fit",
  fn() {
    const budget = new ByteBudget(BUDGET_BYTES);
    using hold = budget.hold();
    let released = 0;
    const charge = (bytes: number, bodyBytes: number) => {
      const batch = batchOfRows(SCHEMA, [{ raw: "x".repeat(bytes - OFFSET_BYTES) }]);
      chargeRows({ ...batch, release: () => released += 1 }, { hold, bodyBytes });
    };
    charge(8 * 50_000, 50_000);
    charge(60_000, 0);
    assert.equal(budget.used, 0);
    // Each request counts for 8 KiB besides its body.
    charge(600_000, 1_000);
    assert.equal(budget.used, 600_000 - 8 * (8_192 + 1_000));
    assert.equal(released, 0);
    assert.throws(
      () => charge(700_000, 1_000),
      (error) => isOperatingError(error) && error.reason === "bodies_in_flight",
    );
    assert.equal(released, 1);
  },
});
