/** The pages of docs/api against the code: routes, columns and limits that they promise. */

import assert from "node:assert/strict";
import { LISTENERS } from "../../cli/role_places.ts";
import { ingestRoutes } from "../../ingest/routes.ts";
import { BATCH_TIER, interactiveTier, ROWS_RETURNED_CEILING } from "../../query/limits.ts";
import { ROUTES } from "../../query/routes.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { QUERY_AUDIT_SCHEMA } from "../../shared/schema/query_audit.ts";
import type { TableSchema } from "../../shared/schema/schema.ts";
import { TRACES_SCHEMA } from "../../shared/schema/traces.ts";

async function page(name: string): Promise<string> {
  return await Deno.readTextFile(new URL(`../../docs/api/${name}`, import.meta.url));
}

/** From a heading of the second level to the next. */
function section(text: string, heading: string): string {
  return text.split(/^## /m).find((one) => one.startsWith(`${heading}\n`)) ?? "";
}

/** Cells of the rows of all tables in `text`, their heads included. */
function rowsOf(text: string): string[][] {
  return text.split("\n").filter((line) => line.startsWith("|"))
    .map((line) => line.slice(1, -1).split("|").map((cell) => cell.trim()));
}

/**
 * `GET /a` for each route of a cell such as "`GET` and `POST /a`, `/b`": a path has the methods
 * before it, and without any those of the path before.
 */
function routesOf(cell: string): string[] {
  const routes: string[] = [];
  let methods: string[] = [];
  let isUsed = false;
  for (const word of [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, text = ""]) => text.split(" "))) {
    if (word.startsWith("/")) {
      routes.push(...methods.map((method) => `${method} ${word}`));
      isUsed = true;
    } else {
      methods = isUsed ? [word] : [...methods, word];
      isUsed = false;
    }
  }
  return routes;
}

Deno.test({
  name: "docs/api/README.md names the routes of both servers, and no other below /api/v1 or /v1",
  fn: async () => {
    const text = await page("README.md");
    const none = () => new Response();
    const ingest = ingestRoutes({ logs: none, traces: none, stream: none, readyz: none });
    const query = ROUTES.map(({ method, path }) => `${method} ${path.replaceAll(":id", "{id}")}`);
    const told = (heading: string) =>
      rowsOf(section(text, heading)).slice(2).flatMap(([cell = ""]) => routesOf(cell))
        // Their paths are matched by patterns; their READMEs have them.
        .filter((route) => !/_compat|\/tracing\/|\/iceberg\/|^GET \/$|\/_|Export/.test(route))
        .sort();
    assert.deepEqual(
      told("Routes of the ingest server"),
      ingest.map(({ method, path }) => `${method} ${path}`).sort(),
    );
    assert.deepEqual(told("Routes of the query server"), query.sort());
  },
});

const TYPES = new Set(["timestamptz", "string", "long", "int", "double", "bool"]);

/** Columns as the first table of a section tells them. */
function columnsOf(text: string): string[] {
  const rows = rowsOf(text.split(/^###? /m)[0] ?? "").slice(2);
  return rows.flatMap(([names = "", types = "", nullable = ""]) => {
    const known = types.split(", ").filter((type) => TYPES.has(type));
    return [...names.matchAll(/`(\w+)`/g)].map(([, name], at) =>
      `${name} ${known[at] ?? known[0]} ${nullable === "no" ? "required" : "nullable"}`
    );
  });
}

const TABLES: readonly [name: string, TableSchema][] = [
  ["events", EVENTS_SCHEMA],
  ["traces", TRACES_SCHEMA],
  ["query_audit", QUERY_AUDIT_SCHEMA],
];

for (const [name, schema] of TABLES) {
  Deno.test({
    name: `docs/api/tables.md has the columns of ${name} with types and nullability`,
    fn: async () =>
      assert.deepEqual(
        columnsOf(section(await page("tables.md"), name)),
        schema.columns.map(({ name, type, required }) =>
          `${name} ${type} ${required ? "required" : "nullable"}`
        ),
      ),
  });
}

Deno.test({
  name: "docs/api/query.md has the limits of both tiers",
  fn: async () => {
    const GIB = 1024 ** 3;
    const count = (value: number) => value.toLocaleString("en-US");
    const size = (bytes: number) =>
      bytes >= 1024 * GIB ? `${bytes / 1024 / GIB} TiB` : `${bytes / GIB} GiB`;
    const tiers = [interactiveTier(ROWS_RETURNED_CEILING), BATCH_TIER];
    const rows = rowsOf(section(await page("query.md"), "Limits")).slice(2)
      .map(([name, ...cells]) => [name, ...cells.map((cell) => cell.replace(/ \(.*\)/, ""))]);
    const both = (range: { readonly default: number; readonly ceiling: number }) =>
      `${count(range.default)}, ${count(range.ceiling)}`;
    assert.deepEqual(rows, [
      ["`max_rows_returned`", ...tiers.map((tier) => both(tier.rowsReturned))],
      ["`timeout_seconds`", ...tiers.map((tier) => both(tier.timeoutSeconds))],
      ["`max_rows_scanned`", ...tiers.map((tier) => count(tier.rowsScannedMax))],
      ["`max_bytes_scanned`", ...tiers.map((tier) => size(tier.bytesScannedMax))],
    ]);
  },
});

Deno.test({
  name: "docs/api/README.md names the port of every listener",
  fn: async () => {
    const conventions = section(await page("README.md"), "Conventions");
    for (const address of Object.values(LISTENERS).flatMap((flags) => Object.values(flags))) {
      const port = address.slice(address.indexOf(":") + 1);
      assert.match(conventions, new RegExp(`\\b${port}\\b`));
    }
  },
});
