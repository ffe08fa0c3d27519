/** Division of whole numbers that rounds down, as it must for instants before 1970. */

/** The largest integer that is not above `value / by`; `by` is above zero. */
export function floorDiv(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}
