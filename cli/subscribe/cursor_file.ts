/**
 * `--state`: the cursor of a subscription in a file, so that the next run goes on where this one
 * ended.
 */

import { dirname, resolve } from "node:path";
import { z } from "zod";
import { textOf, utf8 } from "../../shared/base/bytes.ts";
import { messageOf, OperatingError } from "../../shared/base/errors.ts";
import type { TableIdent } from "../../shared/tenant/tenant.ts";
import type { FileSystem } from "../../shared/os/file_system.ts";
import type { SubscriptionCursor } from "./subscription.ts";

const VERSION = 1;
const ID = z.string().regex(/^-?\d{1,19}$/);

const STATE = z.object({
  version: z.literal(VERSION),
  namespace: z.string(),
  table: z.string(),
  table_uuid: z.string(),
  snapshot_id: ID.nullable(),
  since_ns: ID,
});

export class CursorFile {
  readonly #path: string;
  readonly #files: FileSystem;
  readonly #ident: TableIdent;

  constructor(path: string, options: { readonly files: FileSystem; readonly ident: TableIdent }) {
    this.#path = resolve(path);
    this.#files = options.files;
    this.#ident = options.ident;
  }

  /**
   * undefined when there is no such file. Errors: `invalid_argument` for another table's, or one
   * that is none.
   */
  async read(): Promise<SubscriptionCursor | undefined> {
    const text = await this.#text();
    if (text === undefined) return undefined;
    const state = parsed(text, this.#path);
    const { namespace, name } = this.#ident;
    if (state.namespace !== namespace || state.table !== name) {
      throw new OperatingError(
        "invalid_argument",
        `Cannot go on from --state ${this.#path}: it is of ${state.namespace}.${state.table}, not of ` +
          `${namespace}.${name}; give each table a file of its own`,
      );
    }
    return {
      tableUuid: state.table_uuid,
      snapshotId: state.snapshot_id === null ? undefined : BigInt(state.snapshot_id),
      sinceNs: BigInt(state.since_ns),
    };
  }

  async #text(): Promise<string | undefined> {
    try {
      if (!await this.#files.exists(this.#path)) return undefined;
      return textOf(await this.#files.readFile(this.#path));
    } catch (cause) {
      throw new OperatingError(
        "invalid_argument",
        `Cannot read --state ${this.#path}: ${messageOf(cause)}; give a file of its own`,
        { cause },
      );
    }
  }

  /** Durable when it returns. A cursor of no table yet is none. Errors: `unavailable`. */
  async write({ tableUuid, snapshotId, sinceNs }: SubscriptionCursor): Promise<void> {
    if (tableUuid === undefined) return;
    const state: z.infer<typeof STATE> = {
      version: VERSION,
      namespace: this.#ident.namespace,
      table: this.#ident.name,
      table_uuid: tableUuid,
      snapshot_id: snapshotId?.toString() ?? null,
      since_ns: sinceNs.toString(),
    };
    try {
      await this.#files.mkdir(dirname(this.#path));
      await this.#files.writeFileAtomic(this.#path, utf8(`${JSON.stringify(state)}\n`));
    } catch (cause) {
      throw new OperatingError(
        "unavailable",
        `Cannot keep the cursor in --state ${this.#path}: ${messageOf(cause)}`,
        { cause },
      );
    }
  }
}

function parsed(text: string, path: string): z.infer<typeof STATE> {
  try {
    return STATE.parse(JSON.parse(text));
  } catch (cause) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot go on from --state ${path}: ${messageOf(cause)}; remove it to begin anew`,
      { cause },
    );
  }
}
