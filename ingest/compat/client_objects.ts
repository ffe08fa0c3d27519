/**
 * What search-engine clients have put here and what changes nothing here: templates, policies,
 * pipelines, names of indexes and aliases. They are remembered so that a client that asks for what
 * it has put finds it, in this process and until it ends. A client that misses one puts it again.
 *
 * Invariant: bounded in number and bytes; past a bound the tenant that holds most loses its oldest,
 * so that none can push out what the others have put.
 */

export const OBJECTS_MAX = 2_000;
export const OBJECTS_BYTES_MAX = 16 * 1024 * 1024;
/** Longer names are no good in the original either. */
export const OBJECT_NAME_MAX = 512;

export interface ClientObject {
  readonly name: string;
  /** The object's JSON as it is shown. */
  readonly text: string;
}

interface Entry extends ClientObject {
  readonly tenant: string;
  readonly shelf: string;
}

/** What one tenant holds. */
interface Holding {
  count: number;
  bytes: number;
}

/** What an entry takes besides its texts, which have two bytes a character at most. */
const ENTRY_BYTES = 200;

export class ClientObjects {
  readonly #entries = new Map<string, Entry>();
  readonly #holdings = new Map<string, Holding>();
  #bytes = 0;

  /** Bytes held, estimated. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Remembers an object of that kind; false where there was one of its name, which it replaces. */
  put(tenant: string, kind: string, object: ClientObject): boolean {
    const shelf = shelfOf(tenant, kind);
    const key = keyOf(shelf, object.name);
    const isNew = !this.#forget(key);
    this.#entries.set(key, { tenant, shelf, name: object.name, text: object.text });
    this.#weigh(tenant, { count: 1, bytes: bytesOf(key, object) });
    while (this.#entries.size > OBJECTS_MAX) this.#forgetOldest("count");
    while (this.#bytes > OBJECTS_BYTES_MAX) this.#forgetOldest("bytes");
    return isNew;
  }

  has(tenant: string, kind: string, name: string): boolean {
    return this.#entries.has(keyOf(shelfOf(tenant, kind), name));
  }

  forget(tenant: string, kind: string, name: string): void {
    this.#forget(keyOf(shelfOf(tenant, kind), name));
  }

  /** All of that kind, the oldest first. */
  list(tenant: string, kind: string): ClientObject[] {
    const shelf = shelfOf(tenant, kind);
    return [...this.#entries.values()].filter((entry) => entry.shelf === shelf);
  }

  #forget(key: string): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    this.#entries.delete(key);
    this.#weigh(entry.tenant, { count: -1, bytes: -bytesOf(key, entry) });
    return true;
  }

  #weigh(tenant: string, { count, bytes }: Readonly<Holding>): void {
    const holding = this.#holdings.get(tenant) ?? { count: 0, bytes: 0 };
    holding.count += count;
    holding.bytes += bytes;
    this.#bytes += bytes;
    if (holding.count === 0) this.#holdings.delete(tenant);
    else this.#holdings.set(tenant, holding);
  }

  /** The oldest of the tenant that holds most, of what there is too much of. */
  #forgetOldest(of: keyof Holding): void {
    const [[largest] = []] = [...this.#holdings].toSorted(([, a], [, b]) => b[of] - a[of]);
    for (const [key, { tenant }] of this.#entries) {
      if (tenant !== largest) continue;
      this.#forget(key);
      return;
    }
  }
}

function bytesOf(key: string, { text }: ClientObject): number {
  return ENTRY_BYTES + 2 * (key.length + text.length);
}

/** No tenant's name, and no kind's, has a line end. */
function shelfOf(tenant: string, kind: string): string {
  return `${tenant}\n${kind}`;
}

function keyOf(shelf: string, name: string): string {
  return `${shelf}\n${name}`;
}
