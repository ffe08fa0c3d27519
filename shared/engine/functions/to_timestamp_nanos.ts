/**
 * `to_timestamp_nanos(ns)`: the instant of Unix nanoseconds, every digit kept. See
 * docs/api/query.md#functions.
 */
export const TO_TIMESTAMP_NANOS = `CREATE MACRO to_timestamp_nanos(ns) AS make_timestamp_ns(ns)`;
