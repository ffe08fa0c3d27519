/**
 * `GET /api/v1/fields` and `…/values` over a real query server: what they count and from where,
 * what they refuse, and who sees what. The answers are those of plain code over the same rows.
 */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { OPTIONS, startQuery } from "../../query/mod.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { type LabEvent, WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { ONE_DUCKDB } from "../../shared/testing/one_duckdb.ts";
import { IN_THIS_PROCESS } from "../../shared/testing/in_this_process.ts";

const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const SEC = 1_000_000_000n;

interface Fields {
  get(path: string): Promise<Answer>;
  status(path: string, headers?: HeadersInit): Promise<{ status: number; text: string }>;
}

// deno-lint-ignore no-explicit-any
type Answer = any;

async function withServer(
  lab: WarehouseLab,
  test: (fields: Fields) => Promise<void>,
  flags: readonly string[] = [],
): Promise<void> {
  await using server = await startQuery(
    parseOptions(OPTIONS, [
      ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--audit-disabled"],
      ...["--data-dir", lab.dir, "--threads", "2", ...ONE_DUCKDB],
      ...(lab.wal === undefined ? [] : ["--query-wal-buffer-dir", `${lab.dir}/wal`]),
      ...flags,
    ]),
    IN_THIS_PROCESS,
  );
  const url = `http://127.0.0.1:${server.address.port}/api/v1/`;
  const status = async (path: string, headers: HeadersInit = {}) => {
    const response = await fetch(url + path, { headers });
    return { status: response.status, text: await response.text() };
  };
  await test({
    status,
    get: async (path) => {
      const answer = await status(path);
      strictEqual(answer.status, 200, answer.text);
      return JSON.parse(answer.text);
    },
  });
}

const ODD_NAMES = ["a/b", "a%2Fb", "schlüssel 😀", "x.y?z#&=", "quote\"'"];

/** Rows two seconds apart; each tenth has odd attributes, each hundredth an error. */
function rows(count: number, first = 0): LabEvent[] {
  return Array.from({ length: count }, (_, at) => {
    const n = first + at;
    const odd = Object.fromEntries(ODD_NAMES.map((name) => [name, `${name} ${n % 3}`]));
    return {
      ns: START_NS + BigInt(n) * 2n * SEC,
      host: `web-${n % 7}`,
      raw: n % 100 === 0 ? `error number ${n}` : `request ${n}`,
      attributes: JSON.stringify({
        status: n % 2 === 0 ? 200 : 404,
        ms: n / 4 + 0.5,
        none: null,
        cart: { id: `c${n % 5}`, sum: { all: n % 3, none: null } },
        ...(n % 10 === 0 ? odd : {}),
        ...(n % 100 === 0 ? { "user.id": `u${n}`, ok: false } : {}),
      }),
    };
  });
}

Deno.test({
  name: "a small table is looked at as a whole, and every count is exact, WAL included",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.commit(rows(500));
    await lab.append(rows(200, 500));
    await withServer(lab, async ({ get }) => {
      const { fields, cost, stats, ...rest } = await get("fields");
      deepStrictEqual(rest, {
        rows: 700,
        rowsExact: true,
        answeredFrom: "sample",
        sampleRows: 700,
      });
      ok(cost.estimated_rows_processed > 0 && stats.rows_scanned > 0);
      const exact = { rowsExact: true, distinctExact: true };
      const of = (name: string) => fields.find((field: Answer) => field.name === name);
      const columns = [["host", 7, "text"], ["raw", 700, "text"], ["timestamp", 700, "time"], [
        "timestamp_ns",
        700,
        "integer",
      ]];
      for (const [name, distinct, type] of columns) {
        deepStrictEqual(of(String(name)), {
          ...{ name, kind: "column", type, rows: 700, distinct },
          ...exact,
        });
      }
      const attributes: [string, number, number, string][] = [
        ["status", 700, 2, "integer"],
        ["ms", 700, 700, "number"],
        ["user.id", 7, 7, "text"],
        ["ok", 7, 1, "bool"],
        ["$.cart.id", 700, 5, "text"],
        ["$.cart.sum.all", 700, 3, "integer"],
        ...ODD_NAMES.map((name): [string, number, number, string] => [name, 70, 3, "text"]),
      ];
      for (const [name, count, distinct, type] of attributes) {
        deepStrictEqual(of(name), {
          ...{ name, kind: "attribute", type, rows: count, distinct },
          ...exact,
        });
      }
      strictEqual(of("none"), undefined);
      strictEqual(of("attributes"), undefined);
      strictEqual(of("cart"), undefined);
      const order = fields.map((field: Answer) => field.rows);
      deepStrictEqual(order, order.toSorted((a: number, b: number) => b - a));
    });
  },
});

Deno.test({
  name: "values of a field are counted, by any name, with shares, a prefix and a limit",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.commit(rows(500));
    await lab.append(rows(200, 500));
    await withServer(lab, async ({ get }) => {
      const hosts = await get("fields/host/values?limit=2");
      deepStrictEqual(hosts.values, [
        { value: "web-0", rows: 100, share: 1 / 7 },
        { value: "web-1", rows: 100, share: 1 / 7 },
      ]);
      deepStrictEqual([hosts.rows, hosts.rowsExact, hosts.distinct], [700, true, 7]);
      for (const name of ODD_NAMES) {
        const path = `fields/${encodeURIComponent(name)}/values`;
        const { values, kind, name: told } = await get(path);
        deepStrictEqual([told, kind], [name, "attribute"]);
        deepStrictEqual(
          values.map(({ value }: Answer) => value).sort(),
          [0, 1, 2].map((n) => `${name} ${n}`),
        );
        const prefix = `${name} 1`;
        const begun = await get(`${path}?prefix=${encodeURIComponent(prefix)}`);
        deepStrictEqual(begun.values.map(({ value }: Answer) => value), [prefix]);
        strictEqual(begun.rows, 70);
      }
      const failed = await get("fields/status/values?search=error");
      deepStrictEqual(failed.values, [{ value: "200", rows: 7, share: 1 }]);
      for (const name of ["$.cart.id", "attributes.$.cart.id"]) {
        const nested = await get(`fields/${encodeURIComponent(name)}/values?limit=1`);
        deepStrictEqual([nested.name, nested.kind, nested.distinct], ["$.cart.id", "attribute", 5]);
        deepStrictEqual(nested.values, [{ value: "c0", rows: 140, share: 1 / 5 }]);
      }
      const second = await get("fields/attributes.status/values");
      deepStrictEqual([second.name, second.distinct], ["status", 2]);
      deepStrictEqual((await get("fields/absent/values")).values, []);
    });
  },
});

Deno.test({
  name: "a search and a range choose the rows whose fields are listed",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.commit(rows(500));
    await lab.append(rows(200, 500));
    const at = (n: bigint) => String(START_NS + n * SEC);
    const cases = [
      ["search=error", 7],
      ["search=host:web-3", 100],
      ["search=status:>=300%20host:web-3", 50],
      ["search=$.cart.id:c3", 140],
      ["search=$.cart.sum.all:>=1%20$.cart.id:c3", 93],
      [`from=${at(0n)}&to=${at(100n)}`, 50],
      [`from=${at(1n)}&to=${at(101n)}`, 50],
      ["from=2026-11-20T00:16:40Z", 200],
      ["to=2026-11-20T00:00:00.000000001Z", 1],
      ["from=2026-11-21T00:00:00Z", 0],
      ["search=nothing", 0],
    ] as const;
    await withServer(lab, async ({ get }) => {
      for (const [query, count] of cases) {
        const { rows, rowsExact, fields } = await get(`fields?${query}`);
        deepStrictEqual([rows, rowsExact], [count, true], query);
        strictEqual(fields.find((one: Answer) => one.name === "timestamp")?.rows, count, query);
      }
    });
  },
});

Deno.test({
  name:
    "a large table is answered from summaries, with what no summary counts from the newest rows",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.commit(rows(12_000), { derived: true });
    await lab.append(rows(300, 12_000));
    await withServer(lab, async ({ get }) => {
      const list = await get("fields");
      deepStrictEqual([list.answeredFrom, list.rows, list.rowsExact, list.sampleRows], [
        ...["summaries", 12_300],
        ...[true, 1_000],
      ]);
      const of = (name: string) => list.fields.find((field: Answer) => field.name === name);
      deepStrictEqual(of("host"), {
        ...{ name: "host", kind: "column", type: "text", rows: 12_300, rowsExact: true },
        ...{ distinct: 7, distinctExact: true },
      });
      // No column holds this attribute: its share of the sample stands for all rows.
      const odd = of("a/b");
      deepStrictEqual([odd.rows, odd.rowsExact, odd.distinctExact], [1_230, false, false]);
      ok(list.stats.rows_scanned < 5_000, `${list.stats.rows_scanned} rows were read`);
      const hosts = await get("fields/host/values?limit=100");
      deepStrictEqual([hosts.answeredFrom, hosts.rowsExact, hosts.rows], [
        ...["summaries", true],
        12_300,
      ]);
      const counts = new Map(hosts.values.map(({ value, rows }: Answer) => [value, rows]));
      for (let host = 0; host < 7; host += 1) {
        strictEqual(counts.get(`web-${host}`), Math.floor((12_299 - host) / 7) + 1);
      }
      // From a second in the midst of a minute: its whole minute counts.
      const cut = await get(`fields?from=${START_NS + 90n * SEC}`);
      deepStrictEqual([cut.rows, cut.rowsExact], [12_270, false]);
      // Rows of a search come from the newest ones.
      const found = await get("fields?search=request");
      deepStrictEqual([found.answeredFrom, found.sampleRows, found.rowsExact], [
        ...["sample", 1_000],
        false,
      ]);
      const rare = await get("fields?search=host:web-3%20error");
      deepStrictEqual([rare.rows, rare.rowsExact], [
        rows(12_300).filter(({ host, raw }) => host === "web-3" && raw?.startsWith("error")).length,
        true,
      ]);
    });
  },
});

Deno.test({
  name: "fields refuse what cannot be read, name it, and say what to write",
  async fn() {
    await using lab = await WarehouseLab.open();
    await lab.commit(rows(10));
    const cases: readonly (readonly [string, number, string, RegExp])[] = [
      ["fields?from=yesterday", 400, "bad_parameter", /Cannot use from "yesterday": it is an inst/],
      ["fields?from=2026-11-20T00:00:00Z&to=2026-11-20T00:00:00Z", 400, "bad_parameter", /later/],
      ["fields?search=%28a", 400, "search_syntax", /end of this group/],
      ["fields?search=timestamp:%3E%3Dsoon", 400, "search_syntax", /"soon"/],
      ["fields?table=nope", 400, "unknown_table", /"nope"/],
      ["fields?search=%00", 400, "bad_parameter", /U\+0000/],
      ["fields/host/values?limit=101", 400, "bad_parameter", /limit "101": it is at most 100/],
      ["fields/host/values?limit=0", 400, "bad_parameter", /limit "0"/],
      ["fields/attributes/values", 400, "unknown_field", /"attributes"/],
    ];
    await withServer(lab, async ({ status }) => {
      for (const [path, expected, reason, why] of cases) {
        const answer = await status(path);
        const body = JSON.parse(answer.text);
        deepStrictEqual([answer.status, body.reason], [expected, reason], answer.text);
        match(body.error, why);
      }
      const hostile = await status(
        `fields/${encodeURIComponent("x') OR 1=1 --")}/values?prefix=%27;drop`,
      );
      deepStrictEqual([hostile.status, JSON.parse(hostile.text).values], [200, []]);
    });
  },
});

Deno.test({
  name: "fields ask for a token, and show nothing of another tenant's table",
  async fn() {
    await using lab = await WarehouseLab.open();
    await lab.commit(rows(10));
    const flags = ["--tokens", "0123456789abcdef", "--tenant-namespace", "acme"];
    await withServer(lab, async ({ status }) => {
      for (const path of ["fields", "fields/host/values"]) {
        strictEqual((await status(path)).status, 401);
        const authorization = "Bearer 0123456789abcdef";
        const { status: code, text } = await status(path, { authorization });
        const { rows, distinct = 0, fields = [] } = JSON.parse(text);
        deepStrictEqual([code, rows, distinct], [200, 0, 0], text);
        ok(fields.every((field: Answer) => field.rows === 0));
      }
    }, flags);
  },
});
