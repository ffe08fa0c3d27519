/**
 * What was made of resources and scopes of earlier requests, by their wire bytes. Senders repeat
 * them in every request, so a request of 500 records looks some twenty of them up. The bytes are
 * compared where they lie: a text of them as a key costs ten times as much.
 */

import { areSameBytesAt } from "../../shared/columns/value_bytes.ts";
import { nameHash } from "./attributes/name_table.ts";
import type { ByteSpan } from "./attributes/context_members.ts";

/** Contexts that are kept; with one more all are forgotten. */
const CONTEXTS_MAX = 256;

interface Known<Context> {
  /** The resource's bytes, then the scope's. */
  readonly bytes: DataView;
  readonly resourceLength: number;
  readonly context: Context;
}

export class KnownContexts<Context> {
  /** A later one takes the place of one with its hash, which no sender can foresee. */
  readonly #byHash = new Map<number, Known<Context>>();

  /** The context of the resource and the scope at these places of `view`. */
  find(view: DataView, resource: ByteSpan, scope: ByteSpan): Context | undefined {
    const known = this.#byHash.get(hashOf(view, resource, scope));
    if (known === undefined) return undefined;
    const { bytes, resourceLength, context } = known;
    const length = resource.end - resource.start;
    const scopeLength = scope.end - scope.start;
    const isSame = length === resourceLength && length + scopeLength === bytes.byteLength &&
      areSameBytesAt(bytes, 0, view, resource.start, length) &&
      areSameBytesAt(bytes, length, view, scope.start, scopeLength);
    return isSame ? context : undefined;
  }

  add(view: DataView, { resource, scope, context }: NewContext<Context>): void {
    if (this.#byHash.size >= CONTEXTS_MAX) this.#byHash.clear();
    const length = resource.end - resource.start;
    const bytes = new Uint8Array(length + scope.end - scope.start);
    bytes.set(partOf(view, resource));
    bytes.set(partOf(view, scope), length);
    this.#byHash.set(hashOf(view, resource, scope), {
      bytes: new DataView(bytes.buffer),
      resourceLength: length,
      context,
    });
  }
}

interface NewContext<Context> {
  readonly resource: ByteSpan;
  readonly scope: ByteSpan;
  readonly context: Context;
}

function hashOf(view: DataView, resource: ByteSpan, scope: ByteSpan): number {
  const ofScope = nameHash(view, scope.start, scope.end);
  return Math.imul(nameHash(view, resource.start, resource.end), 31) ^ ofScope;
}

function partOf({ buffer, byteOffset }: DataView, { start, end }: ByteSpan): Uint8Array {
  return new Uint8Array(buffer, byteOffset + start, end - start);
}
