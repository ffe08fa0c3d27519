/** What people read who make the mistakes that people make. */

import { match, ok, strictEqual } from "node:assert/strict";
import { isOperatingError } from "../../base/errors.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { EngineFault } from "./driver.ts";
import { faultError } from "./fault_error.ts";

const MISTAKES: readonly (readonly [sql: string, message: RegExp])[] = [
  [
    "SELECT severity FROM events",
    /"severity" not found.*\nCandidate bindings: .*\nA text is written 'severity', an attribute attr_get\(attributes, 'severity'\)\n\nLINE 1: /,
  ],
  [
    'SELECT raw FROM events WHERE source = "it\'s"',
    /\nA text is written 'it''s', an attribute attr_get\(attributes, 'it''s'\)\n/,
  ],
  [
    // Written anew for its function.
    "SELECT message FROM events WHERE match_terms(raw, 'a')",
    /\nA text is written 'message', [^\n]*\n\nLINE 1: SELECT message FROM events WHERE match_terms\(raw, 'a'\)\n {15}\^$/,
  ],
  ["SELECT attributes.code FROM events", /or json: write attr_get\(attributes, 'code'\)$/],
  [
    "SELECT raw FROM events WHERE attributes['http.code'] = '5'",
    /'http\.code' to INT64: write attr_get\(attributes, 'http\.code'\)\n\nLINE 1: /,
  ],
  ["SELECT raw['code'] FROM events", /'code' to INT64\n\nLINE 1: /],
  [
    "SELECT raw FROM events WHERE timestamp > 1795861725",
    /an explicit cast is required; write to_timestamp\(…\) for seconds, .*\n\nLINE 1: /,
  ],
  [
    "SELECT raw FROM events WHERE timestamp BETWEEN 1795861725.5 AND now()",
    /an explicit cast is required; write to_timestamp\(…\) for seconds/,
  ],
  ["SELECT raw FROM events WHERE timestamp > true", /an explicit cast is required\n\nLINE 1: /],
  [
    "SELECT raw FROM events WHERE attr_get(attributes, 'code') > 499",
    /an explicit cast is required; write TRY_CAST\(… AS DOUBLE\) of a text\n\nLINE 1: /,
  ],
  [
    "SELECT raw FROM events WHERE attributes->>'code' BETWEEN 500 AND 599.5",
    /an explicit cast is required; write TRY_CAST\(… AS DOUBLE\) of a text\n\nLINE 1: /,
  ],
  ["SELECT svc.events.raw FROM events", /^Binder Error: .*\nCandidate tables: "events"\n/],
  [
    "SELECT raw FROM events WHERE host BETWEEN SYMMETRIC 'b' AND 'a'",
    /^Cannot parse the statement: .* write x BETWEEN least\(a, b\) AND greatest\(a, b\)/,
  ],
  [
    "SELECT * FROM events, events",
    /^Binder Error: Ambiguous reference to table "events" \(duplicate alias "events", explicitly alias/,
  ],
  ["SELECT (SELECT unnest([1, 2]))", /can only return a single row\.$/],
  ["SELECT raw FROM events LIMIT 10, 5", /^Cannot parse the statement: .*LIMIT 5 OFFSET 10/],
  ["SHOW DATABASES", /not allowed; write it as a statement of its own, or read information_schema/],
  [
    "FROM (DESCRIBE events)",
    /not allowed; write it as a statement of its own, or read information/,
  ],
];

Deno.test("a mistake is told with what was meant, most likely", async (test) => {
  await using lab = await EngineLab.open();
  await lab.commit([{ ns: 1_795_861_725_000_000_000n, raw: "r" }]);
  for (const [sql, message] of MISTAKES) {
    await test.step(sql, async () => {
      const error = await lab.query(sql).then(() => undefined, (thrown: unknown) => thrown);
      if (!isOperatingError(error, "invalid_argument")) throw new Error(`${sql}: ${error}`);
      match(error.message, message);
    });
  }
});

Deno.test("a statement whose process was replaced is told to come again", () => {
  const error = faultError(new EngineFault("lost", "the process ended by SIGKILL"));
  ok(isOperatingError(error, "unavailable"));
  strictEqual(error.reason, "engine_replaced");
  strictEqual(error.retryAfterSecs, 1);
});
