/** A statement that works within one row for minutes, in which nothing can interrupt DuckDB. */

/** The gate lets none such through: it is for what runs below it. */
export const HANGING = "SELECT count(*)::VARCHAR FROM range(20000) t(i) " +
  "WHERE (repeat('ab', 60) || i) LIKE '%_%_%_%_%_%_%_%_%_%_%_%zz'";
/** One that makes some GB of values in one step, which no pool counts. */
export const EXPANDING =
  "SELECT max(strlen(hex(hex(hex(hex(hex(repeat('x', 60000 + i::INTEGER % 5000))))))))::VARCHAR " +
  "FROM range(4000) t(i)";
