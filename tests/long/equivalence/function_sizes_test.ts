/**
 * DuckDB's functions over values of many kinds: none makes more bytes than its class of
 * `shared/engine/functions/function_classes.ts` allows.
 */

import { deepStrictEqual, ok } from "node:assert/strict";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import {
  type FunctionClass,
  functionClass,
} from "../../../shared/engine/functions/function_classes.ts";

async function openDuckdb(): Promise<DuckDBConnection> {
  return await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();
}

async function listOf(duckdb: DuckDBConnection, sql: string): Promise<unknown[][]> {
  return (await duckdb.runAndReadAll(sql)).getRows();
}

/** Bytes of each text, and of a list or a document about. */
const SIZES = [3_000] as const;
/**
 * Texts that some function makes most of: letters that it writes in more than one, or finds
 * everywhere.
 */
const TEXTS: Readonly<Record<string, string>> = {
  letters: "repeat('a', n)",
  accents: "repeat('é', n // 2)",
  controls: "repeat(chr(1), n)",
  quotes: `repeat('"', n)`,
  percents: "repeat('%', n)",
  pairs: "repeat('%A', n // 2)",
  digits: "repeat('7', n)",
  bits: "repeat('01', n // 2)",
  base64: "repeat('QUJD', n // 4)",
  small: "repeat('ɐ', n // 2)",
  array: "'[' || repeat('1,', n // 2 - 1) || '1]'",
  object: `(SELECT '{' || string_agg('"k' || i || '":1', ',') || '}' FROM range(n // 10) t(i))`,
};

/**
 * SQL for a value of a parameter's type; `v` is the text, `b` its bytes, `l` a list of it, `m` a
 * map.
 */
function argumentsOf(type: string): readonly string[] {
  if (/^(?:VARCHAR|ANY|T|JSON|)$/.test(type)) return ["v", "'a'"];
  if (type === "BLOB") return ["b"];
  if (type === "BIT") return ["t"];
  if (/\[\d+\]$/.test(type)) return ["[1, 2, 3]::DOUBLE[3]"];
  if (/^(?:DOUBLE|FLOAT)\[\]$/.test(type)) return ["[1, 2, 3]::DOUBLE[]"];
  if (type.endsWith("[]")) return ["l", "[1, 2, 3]"];
  if (type.startsWith("MAP")) return ["m"];
  if (type === "BOOLEAN") return ["true"];
  if (type.startsWith("TIMESTAMP")) return ["TIMESTAMP '2020-01-01'"];
  if (type === "DATE") return ["DATE '2020-01-01'"];
  if (type === "INTERVAL") return ["INTERVAL 1 DAY"];
  if (type.startsWith("TIME")) return ["TIME '10:00'"];
  if (type === "LAMBDA") return ["lambda x: x"];
  return ["7"];
}

/**
 * Some calls of a function with these parameters, at least one of which takes a value of any size.
 */
function callsOf(name: string, parameters: readonly string[]): string[] {
  const lists = parameters.reduce<string[][]>(
    (all, type) =>
      all.flatMap((before) => argumentsOf(type.toUpperCase()).map((one) => [...before, one])),
    [[]],
  );
  return lists.slice(0, 8).filter((list) => list.some((one) => /^[vblmt]$/.test(one)))
    .map((list) => `"${name}"(${list.join(", ")})`);
}

/** Bytes that a call may make of `given`. */
function bytesMax(one: FunctionClass, given: number): number {
  // What a function writes whatever it is given, and a list's or a document's brackets around each
  // element.
  const rest = 512;
  switch (one.kind) {
    case "fixed":
      return rest;
    case "same":
      return 1.5 * given + rest;
    case "sum":
      return 3 * given + rest;
    case "times":
      return one.factor * given + rest;
    case "parts":
      return 4 * given + rest;
    default:
      return Infinity;
  }
}

Deno.test({
  name: "no function makes more than its class says, whatever it is given",
  fn: async () => {
    const duckdb = await openDuckdb();
    await duckdb.run(
      "CREATE TABLE given(shape VARCHAR, n INTEGER, v VARCHAR, b BLOB, l VARCHAR[], m MAP(VARCHAR, VARCHAR), t BIT)",
    );
    for (const n of SIZES) {
      for (const [shape, text] of Object.entries(TEXTS)) {
        await duckdb.run(
          `INSERT INTO given SELECT '${shape}', n, v, encode(v), list_transform(range(n // 10), lambda i: left(v, 10)),
            map([v], [v]), repeat('01', n // 2)::BIT FROM (SELECT n, ${text} AS v FROM (SELECT ${n} AS n))`,
        );
      }
    }
    const functions = await listOf(
      duckdb,
      `SELECT function_name, array_to_string([coalesce(x, '') FOR x IN parameter_types], ';')
        FROM duckdb_functions() WHERE function_type IN ('scalar', 'macro')`,
    );
    const measured = new Set<string>();
    const wrong: string[] = [];
    for (const [written, parameters] of functions) {
      const name = String(written).toLowerCase();
      const one = functionClass(name);
      if (one === undefined || one.kind === "bounded" || one.kind === "gathered") continue;
      for (const call of callsOf(String(written), String(parameters).split(";"))) {
        let rows: unknown[][];
        try {
          rows = await listOf(
            duckdb,
            `SELECT shape, n, strlen(TRY(${call})::VARCHAR), strlen(v) FROM given`,
          );
        } catch {
          continue; // Not of these types.
        }
        measured.add(name);
        for (const [shape, n, made, given] of rows) {
          const arguments_ = call.match(/\b[vblmt]\b/g)?.length ?? 1;
          // Bytes and bits are shown in several letters each, and lists with brackets and commas.
          const shown = /\b[bt]\b/.test(call) ? 8 : /\b[lm]\b/.test(call) ? 3 : 1;
          const most = bytesMax(one, shown * arguments_ * Math.max(Number(given), Number(n)));
          if (Number(made ?? 0) <= most) continue;
          wrong.push(
            `${call} of ${n} bytes of ${shape} made ${made}, its class (${one.kind}) allows ${most}`,
          );
          break;
        }
      }
    }
    deepStrictEqual(wrong, []);
    ok(measured.size > 180, `${measured.size} functions were measured`);
    duckdb.closeSync();
  },
});
