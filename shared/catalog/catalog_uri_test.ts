import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { isPostgresUri, sqlitePathOf } from "./catalog_uri.ts";

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
    for (const uri of [...bad, "mysql://u:hush@host/db"]) {
      assert.throws(
        () => sqlitePathOf(uri),
        (error) => isOperatingError(error, "invalid_argument") && !error.message.includes("hush"),
        uri,
      );
    }
  },
});

Deno.test({
  name: "isPostgresUri knows both spellings of the scheme and nothing else",
  fn() {
    for (const uri of ["postgres://h/db", "postgresql://u:p@h:5432/db", "POSTGRES://h/db"]) {
      assert.ok(isPostgresUri(uri), uri);
    }
    for (const uri of ["sqlite://postgres://h", "/postgres://h", "postgres:h", "postgres.db"]) {
      assert.ok(!isPostgresUri(uri), uri);
    }
  },
});
