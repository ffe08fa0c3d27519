import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { sqlitePathOf } from "./catalog_uri.ts";

Deno.test({
  name: "sqlitePathOf takes every way to write a SQLite file",
  fn() {
    const table: [uri: string, path: string][] = [
      ["sqlite://data/catalog.db?mode=rwc", "data/catalog.db"],
      ["sqlite:///var/lib/svc/catalog.db?mode=rwc", "/var/lib/svc/catalog.db"],
      ["sqlite:////var/lib/svc/catalog.db", "/var/lib/svc/catalog.db"],
      ["sqlite://catalog.db?mode=ro", "catalog.db"],
      ["SQLite:catalog.db", "catalog.db"],
      ["/var/lib/a b/catalog.db", "/var/lib/a b/catalog.db"],
      ["catalog.db", "catalog.db"],
      ["what?.db", "what?.db"],
    ];
    for (const [uri, path] of table) assert.equal(sqlitePathOf(uri), path, uri);
  },
});

Deno.test({
  name: "sqlitePathOf refuses what it cannot open, without repeating a password",
  fn() {
    const bad = ["", "sqlite://", "sqlite://?mode=rwc", "sqlite://a.db?cache=shared"];
    for (const uri of [...bad, "postgres://u:hush@host/db", "mysql://u:hush@host/db"]) {
      assert.throws(
        () => sqlitePathOf(uri),
        (error) => isOperatingError(error, "invalid_argument") && !error.message.includes("hush"),
        uri,
      );
    }
  },
});
