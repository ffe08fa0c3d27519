import { strict as assert } from "node:assert";
import type { RecordsBody } from "./client.ts";
import { Completions } from "./completions.ts";

const ROWS = [["events", "host"], ["events", "raw"], ["traces", "trace_id"]];

/** Names of a server that counts what it is asked, and fails where it is to. */
function openCompletions(isDown = false) {
  const asked: string[] = [];
  let nowMs = 0;
  const ask = (what: string) => {
    asked.push(what);
    if (isDown) throw new Error("away");
  };
  const completions = new Completions({
    records: async (query) => {
      await Promise.resolve();
      ask(query);
      return { body: { rows: ROWS } as unknown as RecordsBody, serverMicros: undefined };
    },
    attributes: async (table) => {
      await Promise.resolve();
      ask(table);
      return ["http.route", "http.status", "user", "$.cart.id"];
    },
  }, { monotonicMs: () => nowMs });
  return { completions, asked, pass: (ms: number) => nowMs += ms };
}

const CASES: readonly (readonly [line: string, before: string, found: string[], word: string])[] = [
  ["\\d", "", ["\\d", "\\dt"], "\\d"],
  ["\\d ev", "", ["events"], "ev"],
  ["SELECT * FROM ", "", ["events", "traces"], ""],
  ["FROM EV", "", ["events"], "EV"],
  ["SEL", "", ["SELECT"], "SEL"],
  ["sel", "", ["SELECT"], "sel"],
  ["SELECT ho", "", ["host"], "ho"],
  ["SELECT tra", "", ["trace_id", "traces"], "tra"],
  ["WHERE ho", "SELECT * FROM events", ["host"], "ho"],
  ["SELECT attr_get(attributes, 'http.", "", ["http.route", "http.status"], "http."],
  ["WHERE attributes->>'us", "SELECT 1 FROM traces", ["user"], "us"],
  ["WHERE attributes->>'$.", "SELECT 1 FROM traces", ["$.cart.id"], "$."],
  ["SELECT attr_get(attributes, '$.", "", [], "$."],
  ["WHERE host = 'ho", "SELECT * FROM events", [], "ho"],
];

Deno.test({
  name: "completions are the names that may stand there",
  async fn() {
    const { completions } = openCompletions();
    for (const [line, before, found, word] of CASES) {
      assert.deepEqual(await completions.complete(line, before), [found, word], line);
    }
  },
});

Deno.test({
  name: "completions ask for names once a minute, and go on without a server",
  async fn() {
    const { completions, asked, pass } = openCompletions();
    for (let at = 0; at < 3; at += 1) await completions.complete("SELECT h", "");
    assert.equal(asked.length, 1);
    pass(60_001);
    await completions.complete("SELECT h", "");
    assert.equal(asked.length, 2);
    await completions.complete("attr_get(attributes, '", "SELECT 1 FROM traces WHERE");
    assert.equal(asked.at(-1), "traces");
    const away = openCompletions(true);
    assert.deepEqual(await away.completions.complete("SEL", ""), [["SELECT"], "SEL"]);
  },
});
