import assert from "node:assert/strict";
import { parseOptions } from "../shared/config/parse_options.ts";
import { LOCAL_OPTIONS, warehousePaths } from "./warehouse_options.ts";

const CASES: { argv: string[]; root: string; catalog: string }[] = [
  { argv: ["--data-dir", "/d"], root: "/d/warehouse", catalog: "/d/warehouse/catalog.db" },
  { argv: ["--data-dir", "/d", "--warehouse", "w"], root: "/d/w", catalog: "/d/w/catalog.db" },
  { argv: ["--warehouse", "/abs/w/"], root: "/abs/w", catalog: "/abs/w/catalog.db" },
  {
    argv: ["--warehouse", "w", "--warehouse-url", "file:///srv/ware%20house"],
    root: "/srv/ware house",
    catalog: "/srv/ware house/catalog.db",
  },
  {
    argv: ["--data-dir", "/d", "--catalog-uri", "sqlite:///c/x.db?mode=rwc"],
    root: "/d/warehouse",
    catalog: "/c/x.db",
  },
];

for (const { argv, root, catalog } of CASES) {
  Deno.test({
    name: `warehousePaths of ${argv.join(" ")}`,
    fn: () => {
      const settings = parseOptions(LOCAL_OPTIONS, argv);
      assert.deepEqual(warehousePaths(settings), { root, catalog });
    },
  });
}

Deno.test({
  name: "warehousePaths refuses a URL with credentials, without repeating it",
  fn: () => {
    const settings = parseOptions(LOCAL_OPTIONS, [
      "--warehouse-url",
      "s3://key:secret@bucket/x",
    ]);
    assert.throws(
      () => warehousePaths(settings),
      (error: Error) =>
        /give s3:\/\/bucket\/path, credentials in the env/.test(error.message) &&
        !/secret/.test(error.message),
    );
  },
});
