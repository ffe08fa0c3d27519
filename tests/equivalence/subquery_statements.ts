/**
 * Random statements with subqueries in every place where one can stand, also where it must not be
 * run before the statement. None leaves open which rows it gives.
 */

import { KEYS, type StatementMaker } from "./pruning_statements.ts";

export function subqueryStatement(make: StatementMaker): string {
  return (SHAPES[make.below(SHAPES.length)] as Shape)(make);
}

type Shape = (make: StatementMaker) => string;

function attribute(make: StatementMaker, prefix = ""): string {
  const key = KEYS[make.below(KEYS.length)];
  return make.below(4) === 0
    ? `${prefix}attributes->>'$."${key}"'`
    : `attr_get(${prefix}attributes, '${key}')`;
}

/** What IN and joins compare: a text of a row. */
function text(make: StatementMaker, prefix = ""): string {
  const texts = [`${prefix}host`, `${prefix}source`, `${prefix}raw`, attribute(make, prefix)];
  return texts[make.below(texts.length)] as string;
}

const ALL_COLUMNS = "timestamp, timestamp_ns, host, source, raw, attributes";

/** What rows are grouped by, and in which order they are. */
function grouping(make: StatementMaker) {
  const keys = [text(make), ["host", "source", "host, source"][make.below(3)]][make.below(2)];
  const direction = ["DESC", "ASC", "DESC"][make.below(3)];
  return { keys, order: `timestamp ${direction}, timestamp_ns, host, source, raw, attributes` };
}

const SHAPES: readonly Shape[] = [
  (m) => {
    const { keys, order } = grouping(m);
    return `SELECT DISTINCT ON (${keys}) ${ALL_COLUMNS} FROM events WHERE ${m.event()} ORDER BY ${keys}, ${order}`;
  },
  (m) => {
    const { keys, order } = grouping(m);
    return `SELECT ${ALL_COLUMNS} FROM events WHERE ${m.event()} ` +
      `QUALIFY row_number() OVER (PARTITION BY ${keys} ORDER BY ${order}) = 1`;
  },
  (m) => {
    const { keys, order } = grouping(m);
    return `SELECT host, raw, n FROM (SELECT *, row_number() OVER (PARTITION BY ${keys} ORDER BY ${order}) AS n ` +
      `FROM events WHERE ${m.event()}) WHERE n <= 1 AND ${m.event()}`;
  },
  (m) => {
    const { keys, order } = grouping(m);
    const count = `count(*) OVER (PARTITION BY ${keys})`;
    return `SELECT raw, c FROM (SELECT *, row_number() OVER (PARTITION BY ${keys} ORDER BY ${order}) AS n, ` +
      `${count} AS c FROM events) WHERE n = 1`;
  },
  (m) => {
    const { order } = grouping(m);
    return `SELECT DISTINCT ON (host) source AS host, raw FROM events ORDER BY host, ${order}`;
  },
  (m) => `SELECT raw FROM events WHERE host IN (SELECT host FROM events WHERE ${m.event()})`,
  (m) =>
    `SELECT count(*), max(raw) FROM events WHERE ${text(m)} IN (SELECT ${text(m)} FROM events ` +
    `WHERE ${m.event()}) AND ${m.event()}`,
  (m) =>
    `SELECT raw FROM events WHERE ${attribute(m)} NOT IN (SELECT ${attribute(m)} FROM events ` +
    `WHERE ${m.event()})`,
  (m) =>
    `SELECT host FROM events WHERE (${attribute(m)} IN (SELECT host FROM events ` +
    `WHERE ${m.event()})) IS NULL`,
  (m) =>
    `SELECT host FROM events WHERE host IN (SELECT name FROM metrics WHERE ${m.metric()}) OR ${m.event()}`,
  (m) =>
    `SELECT raw FROM events e WHERE e.host IN (SELECT host FROM events WHERE source IN ` +
    `(SELECT source FROM events WHERE ${m.event()}) AND ${m.event()})`,
  (m) =>
    `SELECT raw FROM events WHERE timestamp > (SELECT max(timestamp) FROM events WHERE ${m.event()}) ` +
    `- INTERVAL ${1 + m.below(30)} SECOND`,
  (m) =>
    `SELECT raw FROM events WHERE timestamp_ns = (SELECT max(timestamp_ns) FROM metrics WHERE ${m.metric()})`,
  (m) =>
    `SELECT host FROM events WHERE host = (SELECT min(host) FROM events WHERE ${m.event()}) AND ${m.event()}`,
  (m) =>
    `SELECT name FROM metrics WHERE code >= (SELECT min(code) FROM metrics WHERE ${m.metric()}) ` +
    `AND value > (SELECT avg(value) FROM metrics)`,
  (m) =>
    `SELECT host FROM events WHERE timestamp < (SELECT timestamp FROM events WHERE ${m.event()} LIMIT 1)` +
    " AND false",
  (m) =>
    `SELECT host FROM events WHERE host = (SELECT host FROM events WHERE ${m.event()} ORDER BY ` +
    "timestamp DESC, timestamp_ns DESC, host LIMIT 1)",
  (m) =>
    `WITH a AS (SELECT DISTINCT ${text(m)} AS t FROM events WHERE ${m.event()}) ` +
    `SELECT raw FROM events WHERE ${text(m)} IN (SELECT t FROM a) AND ${m.event()}`,
  (m) =>
    `WITH a AS (SELECT DISTINCT ${text(m)} AS t FROM events WHERE ${m.event()}) ` +
    `SELECT e.raw, a.t FROM events e JOIN a ON ${
      text(m, "e.")
    } = a.t WHERE e.host IN (SELECT t FROM a)`,
  (m) =>
    `WITH a AS (SELECT ${
      attribute(m)
    } AS t, host AS h, timestamp FROM events WHERE ${m.event()}) ` +
    `SELECT e.raw, a.h, a.timestamp FROM events e JOIN a ON ${attribute(m, "e.")} = a.t ` +
    `AND e.timestamp >= a.timestamp WHERE ${m.event("e.")}`,
  (m) =>
    `WITH a(x, y) AS (SELECT host, count(*) FROM events WHERE ${m.event()} GROUP BY host) ` +
    "SELECT e.raw, a.y FROM a JOIN events e ON a.x = e.host JOIN a b ON b.x = e.host",
  (m) =>
    `SELECT e.raw, q.n FROM events e, (SELECT host AS h, max(timestamp_ns) AS n FROM events ` +
    `WHERE ${m.event()} GROUP BY host) q WHERE e.host = q.h AND e.timestamp_ns = q.n`,
  (m) =>
    `SELECT e.raw, q.b FROM events e JOIN (SELECT DISTINCT host, source FROM events WHERE ${m.event()}) ` +
    `AS q(a, b) ON q.a = ${text(m, "e.")} LEFT JOIN metrics m ON m.name = q.b`,
  (m) =>
    `SELECT e.raw, q.h FROM events e LEFT JOIN (SELECT DISTINCT host AS h FROM events WHERE ${m.event()}) q ` +
    `ON e.host = q.h WHERE ${m.event("e.")}`,
  (m) =>
    `SELECT m.name, e.raw FROM metrics m LEFT JOIN (events e JOIN (SELECT DISTINCT host AS h FROM events ` +
    `WHERE ${m.event()}) q ON e.host = q.h) ON m.timestamp_ns = e.timestamp_ns`,
  (m) =>
    `SELECT e.raw, f.timestamp_ns FROM events e JOIN events f ON ${text(m, "e.")} = ${
      text(m, "f.")
    } ` +
    `AND e.timestamp_ns = f.timestamp_ns WHERE ${m.event("f.")} AND ${m.event("e.")}`,
  (m) =>
    `SELECT count(*), max(e.raw) FROM metrics m, events e WHERE CASE m.name WHEN 'cpu' THEN 'anna' ` +
    `WHEN 'mem' THEN 'web-1' ELSE 'bob' END = ${text(m, "e.")} AND ${m.metric("m.")}`,
  (m) =>
    `SELECT m.name, e.host FROM metrics m LEFT JOIN (events e JOIN events f ON e.host = f.host AND ` +
    `e.raw = f.raw AND ${m.event("f.")}) ON m.timestamp_ns = e.timestamp_ns`,
  (m) =>
    `WITH RECURSIVE events AS (SELECT name AS host, 1 AS n FROM metrics UNION SELECT host, n + 1 FROM events ` +
    "WHERE n < 3) SELECT count(*) FROM events e JOIN metrics m ON m.name = e.host AND e.host <> 'cpu' " +
    `WHERE ${m.metric("m.")}`,
  (m) =>
    `SELECT q.n, e.host FROM (SELECT host AS h, sum(hits) AS n FROM metrics, events WHERE ${m.metric()} ` +
    `AND name <> '' GROUP BY host) q RIGHT JOIN events e ON e.host = q.h`,
  (m) =>
    `SELECT host FROM events e WHERE EXISTS (SELECT 1 FROM events f WHERE ${text(m, "f.")} = ` +
    `${text(m, "e.")} AND ${m.event("f.")}) AND ${m.event("e.")}`,
  (m) =>
    `SELECT host FROM events e WHERE NOT EXISTS (SELECT 1 FROM events f WHERE ${text(m, "f.")} = ` +
    `${text(m, "e.")} AND ${m.event("f.")})`,
  (m) =>
    `SELECT host FROM events e WHERE EXISTS (SELECT 1 FROM events f WHERE f.host = e.host AND ` +
    `f.timestamp_ns < e.timestamp_ns AND ${m.event("f.")})`,
  (m) =>
    `SELECT host FROM events e WHERE EXISTS (SELECT f.host, count(*) FROM events f WHERE f.host = e.host ` +
    `AND ${m.event("f.")} GROUP BY f.host HAVING count(*) > 2)`,
  (m) =>
    `SELECT host FROM events e WHERE EXISTS (SELECT count(*) FROM events f WHERE f.host = e.host ` +
    `AND ${m.event("f.")}) AND ${m.event("e.")}`,
  (m) =>
    `SELECT host FROM events e WHERE EXISTS (SELECT unnest([f.host][1:0]) FROM events f ` +
    `WHERE f.host = e.host) OR e.host IN (SELECT host FROM events WHERE ${m.event()})`,
  (m) =>
    `SELECT host FROM events WHERE host IN (SELECT upper(host) COLLATE NOCASE FROM events WHERE ${m.event()})`,
  (m) =>
    `SELECT e.raw, f.raw FROM events e JOIN events f ON e.timestamp_ns = f.timestamp_ns AND ` +
    `e.host = upper(f.host) COLLATE NOCASE JOIN metrics m ON upper(m.name) = e.host COLLATE NOCASE ` +
    `AND ${m.metric("m.")}`,
  (m) =>
    `WITH a AS (SELECT DISTINCT host AS h FROM events WHERE ${m.event()}), b AS (SELECT h FROM a) ` +
    `SELECT raw, INTERVAL 1 DAY FROM events WHERE host IN (SELECT h FROM b)`,
  (m) =>
    `SELECT host FROM events e WHERE e.timestamp_ns IN (SELECT timestamp_ns FROM metrics m ` +
    `WHERE m.name <> e.host AND ${m.metric("m.")})`,
  (m) =>
    `SELECT host, (SELECT count(*) FROM metrics WHERE ${m.metric()}) AS n FROM events ` +
    `WHERE timestamp_ns IN (SELECT timestamp_ns FROM metrics WHERE ${m.metric()})`,
  (m) =>
    `SELECT host, count(*) FROM events WHERE ${m.event()} GROUP BY host HAVING count(*) > ` +
    `(SELECT count(*) FROM metrics WHERE ${m.metric()})`,
  (m) =>
    `SELECT count(*) FROM (SELECT length(raw) AS raw FROM events) WHERE raw IN (SELECT length(raw) ` +
    `FROM events WHERE ${m.event()})`,
  (m) =>
    `SELECT host FROM events WHERE host IN (SELECT host FROM events WHERE ${m.event()}) UNION ALL ` +
    `SELECT name FROM metrics WHERE name IN (SELECT source FROM events WHERE ${m.event()})`,
  (m) =>
    `SELECT count(*) FROM events WHERE CASE WHEN host IN (SELECT host FROM events WHERE ${m.event()}) ` +
    `THEN ${m.event()} ELSE host > (SELECT max(name) FROM metrics) END`,
  (m) =>
    `SELECT x.h, x.n FROM (SELECT DISTINCT host AS h FROM events WHERE ${m.event()}) g, LATERAL (SELECT g.h, ` +
    `count(*) AS n FROM events WHERE host = g.h AND source IN (SELECT source FROM events e ` +
    "WHERE e.host = g.h)) x WHERE x.h = g.h",
  (m) =>
    `SELECT count(*) FROM events WHERE host IN (SELECT host FROM events WHERE ${m.event()} AND timestamp < now())` +
    " AND timestamp < current_timestamp + INTERVAL 1 DAY",
];
