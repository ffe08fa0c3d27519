/** Paths that name one attribute mean what DuckDB takes them for. */

import assert from "node:assert/strict";
import { namesOfPath } from "./attribute_calls.ts";
import { EngineLab } from "../../testing/engine_lab.ts";

const NAMES = [
  "x",
  "a.b",
  'q"r',
  "u~v",
  "s/t",
  "a b",
  "é",
  "$",
  "*",
  "l[0]",
  "#x",
  "a-b",
  "@k",
  "~0",
];

const PATHS = [
  ...NAMES,
  ...NAMES.map((name) => `$.${name}`),
  ...NAMES.map((name) => `$."${name}"`),
  ...NAMES.map((name) => `/${name}`),
  ...NAMES.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`),
  ...["", "$", "/", "//", "$.x.y", "$.a.b", "/a/b", "$.l[0]", "/l/0", "$[0]", "$.x ", "$. x", " x"],
  ...['$."x".y', '$.x."y"', '$.x."x.y".x', '$."é"."a b".a', "/x/y", "/x/x.y/x", "/é/a b/~02"],
  ...["/x/", "$.x.", "$.x..y", "/l/a", "$.x.0", "/x/0"],
  ...["$..x", "$.*", '$."*"', "0", "/0", "$.0", "/~", "/~2", "$.x*", '$."x"y', "l.*"],
];

Deno.test({
  name: "namesOfPath gives the one member that DuckDB finds by a path, or undefined",
  async fn() {
    await using lab = await EngineLab.open();
    const members = [...NAMES, "a", "b", "l", "y", "0", "", " x", "x ", "~2", "~", "x*"];
    const texts = Object.fromEntries(members.map((name, at) => [name, `v${at}`]));
    const inner = { ...texts, "x.y": { x: "w" } };
    const value = { ...texts, x: inner, l: [inner], "é": { "a b": inner } };
    const json = JSON.stringify(value).replaceAll("'", "''");
    let named = 0;
    for (const path of PATHS) {
      const names = namesOfPath(path);
      if (names === undefined) continue;
      named += 1;
      const quoted = path.replaceAll("'", "''");
      const { rows } = await lab.query(
        `SELECT '${json}'->>'${quoted}', json_extract_string('${json}', '${quoted}')`,
      );
      const found = names.reduce<unknown>(
        (from, name) => typeof from === "object" ? Object(from)[name] ?? null : null,
        value,
      );
      const expected = typeof found === "object" && found !== null ? JSON.stringify(found) : found;
      assert.deepEqual(rows, [[expected, expected]], path);
    }
    assert.ok(named > 40, `${named} paths name a member`);
    for (const path of ["$.a[0].b", "$.l[0]", "*", "$.*", "$.a.*", "$..a", "", "$", "/", "/a/"]) {
      assert.equal(namesOfPath(path), undefined, path);
    }
  },
});
