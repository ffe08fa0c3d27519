import assert from "node:assert/strict";
import { KeptStatements } from "./kept_statements.ts";
import { PREPARED_KEPT_MAX } from "../limits.ts";

Deno.test({
  name:
    "KeptStatements lends each to one taker, ends the oldest past its bound and all when cleared",
  fn() {
    const ended: string[] = [];
    const kept = new KeptStatements<string>((statement) => ended.push(statement));
    const names = Array.from({ length: PREPARED_KEPT_MAX + 1 }, (_, i) => `s${i}`);
    for (const name of names) kept.keep(name, name);
    assert.deepEqual(ended, ["s0"]);
    assert.equal(kept.take("s0"), undefined);
    assert.equal(kept.take("s1"), "s1");
    assert.equal(kept.take("s1"), undefined);
    kept.clear();
    assert.deepEqual(ended, ["s0", ...names.slice(2)]);
  },
});
