/**
 * The function `make`, which keeps its last answers, up to `keptMax`: the least recently asked for
 * goes first.
 */
export function memoize<T>(keptMax: number, make: (key: string) => T): (key: string) => T {
  const kept = new Map<string, T>();
  return (key) => {
    const value = kept.has(key) ? kept.get(key) as T : make(key);
    // The last asked for comes last.
    kept.delete(key);
    kept.set(key, value);
    for (const oldest of kept.keys()) {
      if (kept.size <= keptMax) break;
      kept.delete(oldest);
    }
    return value;
  };
}

/**
 * The function `make`, whose answers are kept in `known`: a Map, or a WeakMap. None is undefined.
 */
export function memoizeIn<K, T>(
  known: { get(key: K): T | undefined; set(key: K, value: T): unknown },
  make: (key: K) => T,
): (key: K) => T {
  return (key) => {
    const kept = known.get(key);
    if (kept !== undefined) return kept;
    const value = make(key);
    known.set(key, value);
    return value;
  };
}
