import assert from "node:assert/strict";
import { IdleNotes, NOTES_MAX } from "./idle_notes.ts";

Deno.test({
  name:
    "IdleNotes tells of each object once, tenants and kinds apart, and of no more than its bound",
  fn() {
    const said: string[] = [];
    const notes = new IdleNotes(({ tenant, title, name }) =>
      said.push(`${tenant} ${title} ${name}`)
    );
    for (const tenant of ["t", "u", "t"]) {
      for (const title of ["template", "pipeline"]) notes.tell({ tenant, title, name: "a" });
    }
    assert.deepEqual(said, ["t template a", "t pipeline a", "u template a", "u pipeline a"]);
    for (let i = 0; i < 2 * NOTES_MAX; i += 1) {
      notes.tell({ tenant: "t", title: "x", name: `${i}` });
    }
    assert.equal(said.length, NOTES_MAX);
  },
});
