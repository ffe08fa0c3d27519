import { strict as assert } from "node:assert";
import { isOperatingError } from "../shared/base/errors.ts";
import { parseOptions } from "../shared/config/parse_options.ts";
import { OPTIONS } from "./flags.ts";
import { queryPaths } from "./query_paths.ts";

Deno.test({
  name: "queryPaths lays everything below the data directory unless told otherwise",
  fn() {
    const usual = {
      warehouse: "/d/warehouse",
      catalog: "/d/warehouse/catalog.db",
      jobs: "/d/warehouse/jobs.db",
      cache: "/d/query-cache",
      wal: undefined,
    };
    const cases: [string[], Partial<Record<keyof typeof usual, string>>][] = [
      [[], {}],
      [["--query-wal-buffer-dir", "/d/wal"], { wal: "/d/wal" }],
      [["--cache-dir", "/tmp/c"], { cache: "/tmp/c" }],
      [["--warehouse", "/w"], {
        warehouse: "/w",
        catalog: "/w/catalog.db",
        jobs: "/w/jobs.db",
      }],
      [["--warehouse", "w"], {
        warehouse: "/d/w",
        catalog: "/d/w/catalog.db",
        jobs: "/d/w/jobs.db",
      }],
      [["--warehouse-url", "file:///w%20x"], {
        warehouse: "/w x",
        catalog: "/w x/catalog.db",
        jobs: "/w x/jobs.db",
      }],
      [["--warehouse", "w", "--warehouse-url", "/u"], {
        warehouse: "/u",
        catalog: "/u/catalog.db",
        jobs: "/u/jobs.db",
      }],
      [["--catalog-uri", "sqlite:///c/cat.db?mode=rwc"], {
        catalog: "/c/cat.db",
        jobs: "/c/jobs.db",
      }],
      [["--catalog-uri", "postgres://u:p@h:5433/db"], {
        catalog: "postgres://u:p@h:5433/db",
        jobs: "postgres://u:p@h:5433/db",
      }],
      [["--jobs-postgres-uri", "postgres://j/db"], { jobs: "postgres://j/db" }],
    ];
    for (const [flags, expected] of cases) {
      const settings = parseOptions(OPTIONS, ["--data-dir", "/d", ...flags]);
      assert.deepEqual(queryPaths(settings), { ...usual, ...expected }, flags.join(" "));
    }
  },
});

Deno.test({
  name: "queryPaths refuses a place for jobs that is no PostgreSQL, without repeating it",
  fn() {
    const settings = parseOptions(OPTIONS, ["--jobs-postgres-uri", "mysql://u:secret@h/db"]);
    assert.throws(() => queryPaths(settings), (error) => {
      assert.ok(isOperatingError(error, "invalid_argument"));
      assert.match(error.message, /--jobs-postgres-uri.*give postgres:/);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  },
});

Deno.test({
  name: "queryPaths refuses a warehouse URL with credentials, without repeating them",
  fn() {
    const settings = parseOptions(OPTIONS, ["--warehouse-url", "s3://key:secret@bucket/x"]);
    assert.throws(() => queryPaths(settings), (error) => {
      assert.ok(isOperatingError(error, "invalid_argument"));
      assert.match(error.message, /give s3:\/\/bucket\/path/);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  },
});
