/** Rate, errors and duration of each service in a time. */

import { askSql } from "../api/sql_client.ts";
import { instantSql } from "../../shared/search/instant_sql.ts";
import type { Instants } from "../logs/time_range.ts";

export interface ServiceFigures {
  readonly service: string;
  readonly spans: number;
  readonly errors: number;
  /** 95 of 100 spans take no longer. */
  readonly p95Ns: number;
}

const SERVICES_MAX = 1_000;

/** The busiest services, 1,000 at most. Errors: `RequestError`; the signal's reason. */
export async function serviceFigures(
  { from, to }: Instants,
  signal: AbortSignal,
): Promise<readonly ServiceFigures[]> {
  const iso = (ms: number) => instantSql(new Date(ms).toISOString());
  const sql = `SELECT service, count(*) AS spans, ` +
    `count(*) FILTER (WHERE status_code = 'STATUS_CODE_ERROR') AS errors, ` +
    `approx_quantile(duration_nanos, 0.95) AS p95 FROM traces ` +
    `WHERE timestamp >= ${iso(from)} AND timestamp < ${iso(to)} ` +
    `GROUP BY service ORDER BY spans DESC LIMIT ${SERVICES_MAX}`;
  const { rows } = await askSql(sql, { signal, rowsMax: SERVICES_MAX });
  return rows.map(([service, spans, errors, p95]) => ({
    service: String(service),
    spans: Number(spans),
    errors: Number(errors),
    p95Ns: Number(p95),
  }));
}
