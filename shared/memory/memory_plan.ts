/**
 * Divides what a process and its children may hold among the parts that hold it. Pure: a role has
 * one table of parts (`query/memory/memory_parts.ts`), from which its options' defaults, the table
 * of its README and its metrics are made.
 *
 * A part with `base` takes that always: the runtime, a child. What is left is divided among the
 * others by `share`, each within its own `min` and `max`. What an option gives a part is that
 * part's, and the others divide what is left then.
 */

const MIB = 1024 ** 2;

/** The limit where neither an option nor the system tells one. */
export const UNKNOWN_LIMIT_BYTES = 1024 * MIB;

export interface MemoryPart {
  /** What holds it: for people. */
  readonly what: string;
  /** Bytes that it takes whatever the limit is. */
  readonly base?: number;
  /** Its part of what is left, relative to the shares of others. */
  readonly share?: number;
  /** Bytes; default 0. It has them even where the parts then exceed the limit. */
  readonly min?: number;
  /** Bytes; default: no bound. */
  readonly max?: number;
}

export interface MemoryPlan<N extends string> {
  readonly limitBytes: number;
  /** What each part may hold. */
  readonly bytes: Readonly<Record<N, number>>;
  /** By how much all parts together exceed the limit; 0: they do not. */
  readonly excessBytes: number;
}

export interface MemoryPlanOptions<N extends string> {
  /** Infinity where it is not known. */
  readonly limitBytes: number;
  /** Bytes that options give; undefined: the plan says. */
  readonly given?: { readonly [K in N]?: number | undefined };
}

export function planMemory<N extends string>(
  parts: Readonly<Record<N, MemoryPart>>,
  { limitBytes: limit, given = {} }: MemoryPlanOptions<N>,
): MemoryPlan<N> {
  const limitBytes = Number.isFinite(limit) ? limit : UNKNOWN_LIMIT_BYTES;
  const bytes = {} as Record<N, number>;
  let divided: (readonly [N, MemoryPart])[] = [];
  let left = limitBytes;
  for (const [name, part] of Object.entries(parts) as [N, MemoryPart][]) {
    const own = given[name] ?? part.base;
    if (own === undefined) divided.push([name, part]);
    else left -= bytes[name] = own;
  }
  // Who has less than its minimum by its share has that, and the others divide what is left then.
  for (let before = Infinity; divided.length < before;) {
    before = divided.length;
    const perShare = bytesPerShare(divided, left);
    const tight = divided.filter(([, { share = 0, min = 0 }]) => perShare * share < min);
    for (const [name, { min = 0 }] of tight) left -= bytes[name] = min;
    divided = divided.filter(([name]) => bytes[name] === undefined);
  }
  const perShare = bytesPerShare(divided, left);
  for (const [name, { share = 0, max = Infinity }] of divided) {
    bytes[name] = Math.min(max, Math.floor(perShare * share));
  }
  const total = Object.values<number>(bytes).reduce((sum, own) => sum + own, 0);
  return { limitBytes, bytes, excessBytes: Math.max(0, total - limitBytes) };
}

function bytesPerShare(parts: readonly (readonly [string, MemoryPart])[], bytes: number): number {
  const shares = parts.reduce((sum, [, { share = 0 }]) => sum + share, 0);
  return Math.max(0, bytes) / Math.max(1, shares);
}
