/** Damage to encoded requests, for property tests: bytes cut off, put in, taken out and changed. */

import fc from "fast-check";

export interface Mutation {
  readonly at: number;
  readonly byte: number;
  readonly kind: number;
}

export const mutations: fc.Arbitrary<Mutation[]> = fc.array(
  fc.record({ at: fc.nat(), byte: fc.nat(255), kind: fc.nat(3) }),
  { minLength: 1, maxLength: 3 },
);

/** `body` after all `mutations`, in their order. */
export function mutated(body: Uint8Array, mutations: readonly Mutation[]): Uint8Array {
  return mutations.reduce(mutatedOnce, body);
}

function mutatedOnce(
  body: Uint8Array,
  { at, byte, kind }: Mutation,
): Uint8Array {
  const place = at % (body.length + 1);
  if (kind === 0) return body.slice(0, place);
  if (kind === 1) return Uint8Array.from([...body.slice(0, place), byte, ...body.slice(place)]);
  if (kind === 2) return Uint8Array.from([...body.slice(0, place), ...body.slice(place + 1)]);
  const changed = body.slice();
  if (place < body.length) changed[place] = byte;
  return changed;
}
