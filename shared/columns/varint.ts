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
