/** PostgreSQL's two formats of values, and what writes a value in one of them. */

import type { ByteBuilder } from "../../../shared/columns/byte_builder.ts";

/** The protocol's codes. */
export const TEXT_FORMAT = 0;
export const BINARY_FORMAT = 1;
export type Format = typeof TEXT_FORMAT | typeof BINARY_FORMAT;

/** Appends the value of a row that is not null, without its length. */
export type CellWriter = (row: number, out: ByteBuilder) => void;
