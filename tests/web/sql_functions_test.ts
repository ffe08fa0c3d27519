import { deepStrictEqual, ok } from "node:assert/strict";
import { FUNCTIONS_FILE, listFunctions } from "./list_functions.ts";

Deno.test("the editor offers the functions that the gate lets through, as documented", async () => {
  const kept = JSON.parse(await Deno.readTextFile(FUNCTIONS_FILE));
  const list = await listFunctions();
  deepStrictEqual(kept, list, "run tests/web/list_functions.ts, which writes functions.json");
  for (const name of ["attr_get", "log_pattern", "date_bin", "count", "row_number", "unnest"]) {
    ok(list.some((one) => one.name === name && one.text !== ""), name);
  }
  ok(!list.some(({ name }) => name === "getenv" || name === "read_csv"));
});
