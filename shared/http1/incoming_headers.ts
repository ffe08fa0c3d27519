/**
 * The header fields of a request as a `Headers` that cannot be changed.
 *
 * The runtime's own class checks each name and value of a list again, which costs more than reading
 * the whole head. Most requests are asked for three of their fields.
 */

import type { HeaderField } from "./request_head.ts";

export class IncomingHeaders implements Headers {
  readonly #fields: readonly HeaderField[];

  constructor(fields: readonly HeaderField[]) {
    this.#fields = fields;
  }

  get(name: string): string | null {
    const wanted = name.toLowerCase();
    let found: string | null = null;
    for (const [known, value] of this.#fields) {
      if (known === wanted) found = found === null ? value : `${found}, ${value}`;
    }
    return found;
  }

  has(name: string): boolean {
    const wanted = name.toLowerCase();
    return this.#fields.some(([known]) => known === wanted);
  }

  getSetCookie(): string[] {
    return this.#fields.filter(([name]) => name === "set-cookie").map(([, value]) => value);
  }

  forEach(
    callback: (value: string, name: string, parent: this) => void,
    thisArg?: unknown,
  ): void {
    for (const [name, value] of this) callback.call(thisArg, value, name, this);
  }

  /** In the order of their names, as `Headers` has them. */
  *entries(): IterableIterator<[string, string]> {
    const names = [...new Set(this.#fields.map(([name]) => name))].sort();
    for (const name of names) yield [name, this.get(name) ?? ""];
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.entries()) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }

  append(): never {
    throw new TypeError("the headers of a request that came in cannot be changed");
  }

  delete(): never {
    return this.append();
  }

  set(): never {
    return this.append();
  }
}

// So that `instanceof Headers` tells the truth; its own methods are never reached.
Object.setPrototypeOf(IncomingHeaders.prototype, Headers.prototype);
