import type { ByteBuilder } from "./byte_builder.ts";

/**
 * A whole number from 0 to 2^53, seven bits a byte, lowest first; the last byte has its highest bit
 * clear.
 */
export function writeVarint(target: ByteBuilder, value: number): void {
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) target.byte(rest % 0x80 | 0x80);
  target.byte(rest);
}

/** Whole numbers of either sign, between -2^52 and 2^52, as small unsigned ones. */
export function writeZigzag(target: ByteBuilder, value: number): void {
  writeVarint(target, value < 0 ? -2 * value - 1 : 2 * value);
}

/** The number that was written by `writeZigzag`, out of the one that was read. */
export function unzigzag(folded: number): number {
  return folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
}
