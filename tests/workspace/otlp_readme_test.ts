import assert from "node:assert/strict";
import { readSources } from "./sources.ts";

const FOLDER = "ingest/otlp/";

Deno.test({
  name: "ingest/otlp/README.md has a line for each file, and for no other",
  async fn() {
    const page = await Deno.readTextFile(new URL(`../../${FOLDER}README.md`, import.meta.url));
    const rows = page.split("\n").filter((line) => line.startsWith("| `"));
    const named = rows.flatMap((row) =>
      [...(row.split("|")[1] ?? "").matchAll(/`([\w/]+\.ts)`/g)].map(([, name = ""]) => name)
    );
    const files = [...(await readSources()).keys()]
      .filter((file) => file.startsWith(FOLDER) && !file.endsWith("_test.ts"))
      .map((file) => file.slice(FOLDER.length));
    assert.deepEqual(named.toSorted(), files.toSorted());
  },
});
