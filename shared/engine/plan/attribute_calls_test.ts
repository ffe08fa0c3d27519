/** Paths that name one attribute mean what DuckDB takes them for. */

import assert from "node:assert/strict";
import { memberOfPath } from "./attribute_calls.ts";
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
  ...["$..x", "$.*", '$."*"', "0", "/0", "$.0", "/~", "/~2", "$.x*", '$."x"y', "l.*"],
];

Deno.test({
  name: "memberOfPath gives the one member that DuckDB finds by a path, or undefined",
  async fn() {
    await using lab = await EngineLab.open();
    const members = [...NAMES, "a", "b", "l", "y", "0", "", " x", "x ", "~2", "~", "x*"];
    const json = JSON.stringify(
      Object.fromEntries(members.map((name, at) => [name, `v${at}`])),
    ).replaceAll("'", "''");
    let named = 0;
    for (const path of PATHS) {
      const member = memberOfPath(path);
      if (member === undefined) continue;
      named += 1;
      const quoted = path.replaceAll("'", "''");
      const { rows } = await lab.query(
        `SELECT '${json}'->>'${quoted}', json_extract_string('${json}', '${quoted}')`,
      );
      const at = members.indexOf(member);
      const expected = at < 0 ? null : `v${at}`;
      assert.deepEqual(rows, [[expected, expected]], path);
    }
    assert.ok(named > 40, `${named} paths name a member`);
    for (const path of ["$.a.b", "/a/b", "$.l[0]", "*", "$.*", "", "$", "/"]) {
      assert.equal(memberOfPath(path), undefined, path);
    }
  },
});
