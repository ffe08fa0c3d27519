/**
 * What the REST catalog tells of one caller's tables: names from the catalog, metadata files from
 * the warehouse, both as they are.
 */

import { getSummed } from "../../shared/storage/summed_object.ts";
import { isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import type { CatalogReader } from "../../shared/catalog/catalog.ts";
import { movedWarehouse } from "../../shared/iceberg/commit_table.ts";
import { isBelowRoot, keyOfMetadata } from "../../shared/iceberg/locations.ts";
import { QUERY_AUDIT_TABLE } from "../../shared/schema/query_audit.ts";
import type { ReadableStore } from "../../shared/storage/object_store.ts";
import type { TableIdent } from "../../shared/tenant/tenant.ts";
import type { QueryCaller } from "../query_caller.ts";
import type { VendedCredentials } from "./vended_credentials.ts";

/** Whose tables are told of. */
type TableCaller = Pick<QueryCaller, "namespace" | "isOneOfMany">;

/** A table's current metadata file. */
export interface StoredMetadata {
  readonly location: string;
  /** JSON in UTF-8. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** What the protocol answers beside a table's metadata. */
export interface TableProperties {
  readonly config: Readonly<Record<string, string>>;
  /** `storage-credentials`. */
  readonly credentials: readonly {
    readonly prefix: string;
    readonly config: Readonly<Record<string, string>>;
  }[];
}

/** Part of a list of names. */
export interface NamePage {
  readonly names: readonly string[];
  /** Where the next page begins; undefined: this is the last. */
  readonly next: string | undefined;
}

export interface RestCatalogParts {
  readonly catalog: Pick<CatalogReader, "tables" | "metadataLocation">;
  readonly store: Pick<ReadableStore, "get" | "head" | "rootUri">;
  /** What engines are told of the warehouse's place, by the names of Iceberg's properties. */
  readonly properties: Readonly<Record<string, string>>;
  /** Asked for credentials of a table's files; undefined: engines bring their own. */
  readonly vended?: Pick<VendedCredentials, "for"> | undefined;
}

export class RestCatalog {
  readonly #parts: RestCatalogParts;

  constructor(parts: RestCatalogParts) {
    this.#parts = parts;
  }

  /**
   * Properties of Iceberg's clients that lead to the files of the table with that metadata file.
   * Secrets are among them only where an engine asks for credentials and the server has some to
   * give. Errors: those of `VendedCredentials.for`.
   */
  async properties(
    { location }: Pick<StoredMetadata, "location">,
    { wantsCredentials }: { readonly wantsCredentials: boolean },
  ): Promise<TableProperties> {
    const { properties, vended } = this.#parts;
    if (!wantsCredentials || vended === undefined) return { config: properties, credentials: [] };
    const prefix = location.replace(/\/metadata\/[^/]*$/, "");
    const config = await vended.for(prefix);
    return { config: { ...properties, ...config }, credentials: [{ prefix, config }] };
  }

  /** At most `namesMax` names of the caller's tables, in order, from `after` on. */
  async names(
    caller: TableCaller,
    { after, namesMax }: { readonly after: string; readonly namesMax: number },
  ): Promise<NamePage> {
    const all = (await this.#parts.catalog.tables(caller.namespace)).toSorted();
    const rest = all.filter((name) => name > after && !isHidden(name, caller));
    const names = rest.slice(0, namesMax);
    return { names, next: names.length < rest.length ? names.at(-1) : undefined };
  }

  /** Whether there is such a table. */
  async has(ident: TableIdent): Promise<boolean> {
    return await this.#parts.catalog.metadataLocation(ident) !== undefined;
  }

  /**
   * `room` is told how many bytes are to be read before they are, and may throw. Errors:
   * `not_found` when there is no such table; `precondition_failed` (`moved_warehouse`) when its
   * metadata would lead the engine out of this warehouse; what `room` throws.
   */
  async metadata(ident: TableIdent, room: (bytes: number) => void): Promise<StoredMetadata> {
    const found = await this.#newest(ident, room);
    this.#refuseElsewhere(ident, found.location);
    return found;
  }

  async #newest(ident: TableIdent, room: (bytes: number) => void): Promise<StoredMetadata> {
    const location = await this.#location(ident);
    try {
      return await this.#read(location, room);
    } catch (error) {
      if (!isOperatingError(error, "not_found")) throw error;
      // A commit may have replaced and removed it in between; a file that is gone stays an error.
      const newer = await this.#location(ident);
      if (newer === location) throw error;
      return await this.#read(newer, room);
    }
  }

  /** Engines take locations as they stand: those of a copy name the original's files. */
  #refuseElsewhere({ namespace, name }: TableIdent, pointer: string): void {
    const { rootUri } = this.#parts.store;
    if (isBelowRoot(rootUri, pointer)) return;
    throw movedWarehouse(`load table ${JSON.stringify(`${namespace}.${name}`)}`, {
      pointer,
      rootUri,
    });
  }

  async #read(location: string, room: (bytes: number) => void): Promise<StoredMetadata> {
    const { store } = this.#parts;
    const key = keyOfMetadata(store.rootUri, location);
    room((await store.head(key)).size);
    return { location, bytes: await getSummed(store, key) };
  }

  async #location(ident: TableIdent): Promise<string> {
    const location = await this.#parts.catalog.metadataLocation(ident);
    if (location === undefined) throw noSuchTable(ident);
    return location;
  }
}

/** One of many tenants does not see the audit's table, which has everybody's statements. */
export function isHidden(
  name: string,
  { isOneOfMany = false }: Pick<QueryCaller, "isOneOfMany">,
): boolean {
  return isOneOfMany && name.toLowerCase() === QUERY_AUDIT_TABLE;
}

/** What a client is told of a table that is not there, or is not its caller's. */
export function noSuchTable({ namespace, name }: TableIdent): OperatingError {
  return new OperatingError(
    "not_found",
    `Cannot load table ${JSON.stringify(`${namespace}.${name}`)}: there is no such table`,
    { reason: "no_such_table" },
  );
}
