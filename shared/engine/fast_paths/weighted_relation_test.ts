import { doesNotMatch, match } from "node:assert/strict";
import { ALL_TIME } from "../../iceberg/types.ts";
import { ownRowsSql, type WeightedColumns } from "./weighted_relation.ts";

const SHAPE: WeightedColumns = {
  minutes: true,
  columns: [],
  measures: [],
  unneeded: [{ id: 9, name: "level", type: "string", required: false }],
  ownValues: new Map([["level", { sql: "attr_get(attributes, 'level')" }]]),
  filter: undefined,
};

Deno.test("ownRowsSql() cuts times to minutes without the calendar of time zones", () => {
  const sql = ownRowsSql(SHAPE, { relation: "rows", ranges: [ALL_TIME], areFilled: false });
  match(sql, /\butc_date_trunc\('minute', "timestamp"\)/);
  doesNotMatch(sql, /\bdate_trunc/);
});

Deno.test("ownRowsSql() makes what need not be known of rows that are not filled alone", () => {
  const relation = { relation: "rows", ranges: [ALL_TIME] };
  match(ownRowsSql(SHAPE, { ...relation, areFilled: false }), /attr_get\(attributes/);
  doesNotMatch(ownRowsSql(SHAPE, { ...relation, areFilled: true }), /attr_get/);
});
