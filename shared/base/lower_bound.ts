/**
 * Index of the first of ascending numbers, from `from` on, that is not below `bound`; their length
 * when all are.
 */
export function lowerBound(
  numbers: Uint32Array | Float64Array,
  bound: number,
  from = 0,
): number {
  let low = from;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] as number) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first of `count` places for which `isBelow` is false; it is true for none behind that. */
export function firstNotBelow(count: number, isBelow: (place: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBelow(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
