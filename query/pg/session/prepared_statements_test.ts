import assert from "node:assert/strict";
import { ByteBudget } from "../../../shared/base/byte_budget.ts";
import { isOperatingError } from "../../../shared/base/errors.ts";
import { SessionStatements } from "./prepared_statements.ts";

const EMPTY = { text: "", plan: { kind: "empty" }, given: [], needed: 0 } as const;

Deno.test({
  name: "SessionStatements counts the names of statements and their parameters' types",
  fn() {
    const budget = new ByteBudget(1_000_000);
    using kept = new SessionStatements(budget.hold());
    kept.addStatement("a".repeat(300_000), EMPTY);
    assert(budget.used >= 600_000);
    assert.throws(() => kept.addStatement("b".repeat(300_000), EMPTY), isOperatingError);
    kept.statements.delete("a".repeat(300_000));
    assert.equal(budget.used, 0);
    kept.addStatement("", { ...EMPTY, given: Array.from({ length: 1_000 }, () => 0) });
    assert(budget.used >= 8_000);
  },
});
