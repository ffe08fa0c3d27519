import assert from "node:assert/strict";
import { printPlan } from "./plan_table.ts";
import { RecordingConsole } from "./recording_console.ts";

const COLUMNS = ["table", "rows", "metadata stored"];
const ROWS = [["svc.events", 4661, 780954], ["svc.query_audit", 28, 83830]];

for (const width of [20, 30, 80, undefined]) {
  Deno.test({
    name: `printPlan shows names and numbers whole on a terminal of ${width} columns`,
    async fn() {
      const console = new RecordingConsole();
      const output = { ...console.output, columns: () => width };
      await printPlan({ input: console.input, notes: console.notes, output }, COLUMNS, ROWS);
      for (const text of [...COLUMNS, ...ROWS.flat().map(String)]) {
        assert.ok(console.outputText.includes(text), `${text}: ${console.outputText}`);
      }
    },
  });
}

Deno.test({
  name: "printPlan without rows is its header, however narrow the terminal",
  async fn() {
    const console = new RecordingConsole();
    const output = { ...console.output, columns: () => 20 };
    await printPlan({ input: console.input, notes: console.notes, output }, COLUMNS, []);
    assert.match(console.outputText, /^table/);
  },
});
