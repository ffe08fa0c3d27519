import assert from "node:assert/strict";
import { unknownVariables } from "./unknown_variables.ts";

const CASES: { name: string; says?: RegExp }[] = [
  { name: "SVC_QUERY_TOKENS" },
  { name: "SVC_TOKEN" },
  { name: "HOME" },
  { name: "SVC_TEST_PYTHON" },
  { name: "SVC_FAST_PATH_SEEDS" },
  { name: "SVC_QUERY_SERVICE_HOST" },
  { name: "SVC_QUERY_SERVICE_PORT_HTTP" },
  { name: "SVC_QUERY_PORT" },
  { name: "SVC_QUERY_PORT_8089_TCP_ADDR" },
  { name: "SVC_QUERY_TOKEN", says: /SVC_QUERY_TOKEN is set, .*: did you mean SVC_QUERY_TOKENS\?$/ },
  { name: "SVC_INGEST_AUTH_TOKENS", says: /did you mean SVC_AUTH_TOKENS\?$/ },
  { name: "SVC_WAREHOUSE_ULR", says: /did you mean SVC_WAREHOUSE_URL\?$/ },
  { name: "SVC_ODIC_ISSUER", says: /did you mean SVC_OIDC_ISSUER\?$/ },
  { name: "SVC_X", says: /The variable SVC_X is set, and no option reads it: --help lists those/ },
];

for (const { name, says } of CASES) {
  Deno.test({
    name: `unknownVariables says of ${name} ${says ?? "nothing"}`,
    fn: () => {
      const notes = unknownVariables([name]);
      assert.equal(notes.length, says === undefined ? 0 : 1);
      if (says !== undefined) assert.match(notes[0] ?? "", says);
    },
  });
}
