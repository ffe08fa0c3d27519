/**
 * `date_bin(stride, source [, origin])`: the start of the stride-long bin that holds `source`. Bins
 * are counted from `origin` (default: the Unix epoch), and exist before the origin, too, which is
 * PostgreSQL's rule.
 *
 * A stride without months becomes one of microseconds, which DuckDB bins without its calendar. Over
 * 2 M rows that takes 0.1 s instead of 9 s for a stride of one day. A stride of months makes
 * calendar bins, which PostgreSQL refuses.
 */
const STRIDE = `CASE WHEN datepart('year', stride::INTERVAL) = 0
    AND datepart('month', stride::INTERVAL) = 0
    THEN to_microseconds(epoch_us(stride::INTERVAL)) ELSE stride::INTERVAL END`;

export const DATE_BIN = `CREATE MACRO date_bin(stride, source) AS
    time_bucket(${STRIDE}, source, TIMESTAMP '1970-01-01'),
  (stride, source, origin) AS time_bucket(${STRIDE}, source, origin)`;
