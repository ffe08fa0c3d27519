import assert from "node:assert/strict";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { EngineLab } from "../testing/engine_lab.ts";

const ROW = { timestamp: 1n, timestamp_ns: 1_000n, host: "h", source: "s", sourcetype: "t" };

Deno.test({
  name: "Engine knows no hidden table: refused and listed as if it were not there",
  async fn() {
    const known = refusalOf([]);
    assert.equal(await known("secrets"), undefined, "without hiding it is read");
    const hidden = refusalOf(["secrets"]);
    const absent = await hidden("nothing");
    assert.match(absent ?? "", /there is no such table; there are: .*events/);
    assert.doesNotMatch(absent ?? "", /secrets/);
    for (const spelling of ["secrets", "SECRETS", '"Secrets"', "svc.secrets"]) {
      assert.equal((await hidden(spelling))?.replace("secrets", "nothing"), absent, spelling);
    }
  },
});

/** What reading a table says in a warehouse that has `secrets`; undefined when it is read. */
function refusalOf(hiddenTables: readonly string[]) {
  return async (table: string): Promise<string | undefined> => {
    await using lab = await EngineLab.open({ engine: { hiddenTables } });
    const rows = [{ ...ROW, index: "main", raw: "x", attributes: null }];
    await lab.commitRows(rows, {
      ident: { namespace: "svc", name: "secrets" },
      schema: EVENTS_SCHEMA,
    });
    try {
      await lab.query(`SELECT * FROM ${table}`);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
}
