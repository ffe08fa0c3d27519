/**
 * Verifies every stored file of a table, by key, and goes on where an earlier pass ended. README.md
 * of this folder, "Scrub", says what is held against what.
 *
 * A damaged sidecar is made anew from its data file. Another file is replaced where there is a
 * second copy of it that is whole. What stays damaged is noted in the catalog, until a later pass
 * finds it whole or nothing names it any more.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf } from "../base/errors.ts";
import type { DamagedObject, ScrubPass, Scrubs } from "../catalog/scrubs.ts";
import { sidecarKey } from "../derived/sidecar.ts";
import type { CommitDeps } from "../iceberg/commit_table.ts";
import { IcebergReader, type LoadedTable } from "../iceberg/iceberg_reader.ts";
import { keyOfMetadata } from "../iceberg/locations.ts";
import type { DataFile } from "../iceberg/types.ts";
import type { ObjectInfo } from "../storage/object_store.ts";
import { verifyBytes } from "../tables/verify_bytes.ts";
import { type FileCheck, type RecordedFile, verifyFile } from "../tables/verify_file.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { namedKeys } from "./orphans.ts";
import { type RebuildDeps, rebuildSidecar } from "./rebuild_sidecars.ts";

export interface ScrubDeps extends CommitDeps, Pick<RebuildDeps, "decoder" | "deriver"> {
  readonly scrubs: Scrubs;
  /** Where files have another copy; absent: nowhere. */
  readonly copies?: SecondCopies;
}

/** Other copies of a warehouse's files, such as a backup. */
export interface SecondCopies {
  /** The bytes of one copy after the other, under that key; none when there is none. */
  copiesOf(key: string): AsyncIterable<Uint8Array>;
}

export interface ScrubOptions {
  readonly signal: AbortSignal;
  /** Called before so many bytes are read: it may wait. */
  readonly pace?: (bytes: number) => Promise<void>;
  /** Begins anew, whatever an earlier pass left. Default false. */
  readonly restarts?: boolean;
  readonly onFile?: (found: ScrubbedFile) => void;
}

export interface ScrubbedFile {
  readonly key: string;
  readonly byteLength: number;
  readonly outcome: "intact" | "unsummed" | "damaged" | "repaired";
  /** What is damaged, or was. */
  readonly damage?: string;
}

/** What a whole pass found. */
export interface ScrubbedTable extends ScrubPass {
  readonly folder: string;
  readonly repaired: number;
  /** All that is damaged now. */
  readonly damaged: readonly DamagedObject[];
}

/** How often the place of a pass is kept. */
const KEPT_MS = 10_000;

/** Folder of a table's files; undefined when there is no such table. Errors: the catalog's. */
export async function folderOfTable(
  { store, catalog }: Pick<CommitDeps, "store" | "catalog">,
  ident: TableIdent,
): Promise<string | undefined> {
  const location = await catalog.metadataLocation(ident);
  if (location === undefined) return undefined;
  return keyOfMetadata(store.rootUri, location).split("/").slice(0, -2).join("/");
}

/**
 * Ends with the pass; undefined when there is no such table. Errors: the store's and the catalog's;
 * the signal's reason, after which the next call goes on.
 */
export async function scrubTable(
  deps: ScrubDeps,
  ident: TableIdent,
  options: ScrubOptions,
): Promise<ScrubbedTable | undefined> {
  const folder = await folderOfTable(deps, ident);
  if (folder === undefined) return undefined;
  return await new TableScrub(deps, ident, { folder, options }).run();
}

class TableScrub {
  readonly #deps: ScrubDeps;
  readonly #ident: TableIdent;
  readonly #folder: string;
  readonly #options: ScrubOptions;
  /** Damage that was noted before. */
  #noted = new Map<string, DamagedObject>();
  #live: ReadonlyMap<string, DataFile> = new Map();
  #repaired = 0;
  /** What snapshots named at the last look. */
  #named: ReadonlySet<string> | undefined;

  constructor(
    deps: ScrubDeps,
    ident: TableIdent,
    { folder, options }: { readonly folder: string; readonly options: ScrubOptions },
  ) {
    this.#deps = deps;
    this.#ident = ident;
    this.#folder = folder;
    this.#options = options;
  }

  async run(): Promise<ScrubbedTable> {
    const { clock, scrubs, store } = this.#deps;
    const last = (await scrubs.passes()).get(this.#folder);
    for (const one of await scrubs.damaged(this.#folder)) this.#noted.set(one.key, one);
    const begun = this.#options.restarts === true ? undefined : last;
    let pass = begun?.cursor === undefined ? this.#newPass(last) : begun;
    const start = pass.cursor ?? "";
    await this.#findMetadata();
    this.#live = await this.#liveFiles();
    const listed = new Set<string>();
    let keptMs = clock.monotonicMs();
    for await (const info of store.list(`${this.#folder}/`)) {
      listed.add(info.key);
      if (info.key <= start) continue;
      this.#options.signal.throwIfAborted();
      const found = await this.#file(info);
      if (found === undefined) continue;
      pass = {
        ...pass,
        cursor: info.key,
        files: pass.files + 1,
        bytes: pass.bytes + found.byteLength,
        unsummed: pass.unsummed + (found.outcome === "unsummed" ? 1 : 0),
      };
      if (clock.monotonicMs() - keptMs < KEPT_MS) continue;
      await scrubs.keep(this.#folder, pass);
      keptMs = clock.monotonicMs();
    }
    await this.#missing(listed);
    await this.#forgetNeedless();
    pass = { ...pass, cursor: undefined, wholeMs: pass.beganMs };
    await scrubs.keep(this.#folder, pass);
    const damaged = await scrubs.damaged(this.#folder);
    return { ...pass, folder: this.#folder, repaired: this.#repaired, damaged };
  }

  #newPass(last: ScrubPass | undefined): ScrubPass {
    const beganMs = Math.floor(this.#deps.clock.nowMs());
    return { beganMs, cursor: "", files: 0, bytes: 0, unsummed: 0, wholeMs: last?.wholeMs };
  }

  /** undefined: it is gone, or nothing names it. */
  async #file({ key }: ObjectInfo): Promise<ScrubbedFile | undefined> {
    const recorded = this.#recorded(key);
    const check = await orUndefined(() => verifyFile(this.#deps.store, recorded, this.#pace));
    if (check === undefined) return undefined;
    const [first] = check.damage;
    if (first !== undefined) {
      return await this.#damaged(key, check.byteLength, textOf(first, check.damage.length));
    }
    if (this.#noted.has(key)) await this.#deps.scrubs.forgetDamage([key]);
    const outcome = check.isSummed ? "intact" : "unsummed";
    return this.#tell({ key, byteLength: check.byteLength, outcome });
  }

  get #pace() {
    const { pace } = this.#options;
    return pace === undefined ? {} : { pace };
  }

  async #damaged(key: string, bytes: number, damage: string): Promise<ScrubbedFile | undefined> {
    if (!await this.#isNamed(key)) {
      await this.#deps.scrubs.forgetDamage([key]);
      return undefined;
    }
    const found = { key, byteLength: bytes, damage };
    if (await this.#repair(key)) {
      await this.#deps.scrubs.forgetDamage([key]);
      this.#repaired += 1;
      return this.#tell({ ...found, outcome: "repaired" });
    }
    const foundMs = Math.floor(this.#deps.clock.nowMs());
    await this.#deps.scrubs.found(this.#folder, { key, damage, foundMs });
    getLogger(["svc", "maintenance"]).error(
      "stored file {key} is damaged, {damage}; no other copy of it is known here: svc scrub --repair-from takes a backup's",
      { key, damage },
    );
    return this.#tell({ ...found, outcome: "damaged" });
  }

  #tell(found: ScrubbedFile): ScrubbedFile {
    this.#options.onFile?.(found);
    return found;
  }

  /** Whether it is whole now. */
  async #repair(key: string): Promise<boolean> {
    for (const way of [() => this.#rebuilt(key), () => this.#copiedBack(key)]) {
      try {
        if (await way()) return true;
      } catch (error) {
        if (!isOperatingError(error)) throw error;
        getLogger(["svc", "maintenance"]).warning("cannot repair {key}: {error}", {
          key,
          error: messageOf(error),
        });
      }
    }
    return false;
  }

  /** A sidecar is made of its data file. */
  async #rebuilt(key: string): Promise<boolean> {
    if (!key.endsWith(".puffin")) return false;
    const file = [...this.#live.values()].find((one) => sidecarKey(one.key) === key);
    if (file === undefined) return false;
    await rebuildSidecar(this.#deps, { table: await this.#table() }, { file, wide: false });
    return isWhole(await verifyFile(this.#deps.store, this.#recorded(key)));
  }

  async #copiedBack(key: string): Promise<boolean> {
    const { copies, store } = this.#deps;
    if (copies === undefined) return false;
    for await (const bytes of copies.copiesOf(key)) {
      if (!isWhole(await verifyBytes(this.#recorded(key), bytes))) continue;
      await store.delete([key]);
      await store.putNew(key, bytes);
      return true;
    }
    return false;
  }

  /** What the manifest says of a data file. */
  #recorded(key: string): RecordedFile {
    const file = this.#live.get(key);
    return file === undefined ? { key } : { key, byteLength: file.byteLength, rows: file.rows };
  }

  /** The table's metadata leads to all others, and to itself only from the catalog. */
  async #findMetadata(): Promise<void> {
    const { catalog, store } = this.#deps;
    const location = await catalog.metadataLocation(this.#ident);
    if (location !== undefined) await this.#find(keyOfMetadata(store.rootUri, location), 0);
  }

  /**
   * Finds what snapshots need and was not there: a list before the manifests that it names, and
   * these before the data files, since a repaired one leads to more. Also where the pass began
   * before: a file may be gone since.
   */
  async #missing(listed: ReadonlySet<string>): Promise<void> {
    this.#named = undefined;
    const find = async (key: string, byteLength: number) => {
      if (!listed.has(key)) await this.#find(key, byteLength);
    };
    await this.#missingManifests(find);
    this.#live = await this.#liveFiles();
    for (const { key, byteLength } of this.#live.values()) await find(key, byteLength);
  }

  async #missingManifests(find: (key: string, byteLength: number) => Promise<void>): Promise<void> {
    const table = await orElse(() => this.#table(), undefined);
    const { reader } = this.#freshDeps();
    const found = new Set<string>();
    for (const snapshot of table?.metadata.snapshots ?? []) {
      const list = snapshot["manifest-list"];
      if (table === undefined || list === undefined) continue;
      await find(table.locator.keyOf(list), 0);
      const metadata = { ...table.metadata, "current-snapshot-id": snapshot["snapshot-id"] };
      for (const one of await orElse(() => reader.manifests({ ...table, metadata }), [])) {
        if (found.has(one.location)) continue;
        found.add(one.location);
        await find(table.locator.keyOf(one.location), one.byteLength);
      }
    }
  }

  async #find(key: string, byteLength: number): Promise<void> {
    const info = await orUndefined(() => this.#deps.store.head(key));
    if (info === undefined) await this.#damaged(key, byteLength, "it is not there");
  }

  /** Damaged files that are gone with their last snapshot. */
  async #forgetNeedless(): Promise<void> {
    const { scrubs } = this.#deps;
    this.#named = undefined;
    const needless: string[] = [];
    for (const { key } of await scrubs.damaged(this.#folder)) {
      if (!await this.#isNamed(key)) needless.push(key);
    }
    await scrubs.forgetDamage(needless);
  }

  /** Also where nobody can tell: then metadata is damaged itself. */
  async #isNamed(key: string): Promise<boolean> {
    if (this.#named?.has(key) === true) return true;
    try {
      this.#named = await namedKeys(this.#freshDeps(), await this.#table());
      return this.#named.has(key);
    } catch (error) {
      if (isOperatingError(error)) return true;
      throw error;
    }
  }

  /** By key; none where metadata is damaged, which its own file shows. */
  #liveFiles(): Promise<ReadonlyMap<string, DataFile>> {
    return orElse(async () => {
      const table = await this.#table();
      // Also those that wait for another engine's deletes: damage would keep them waiting.
      const entries = await this.#freshDeps().reader.liveEntries(table);
      return new Map(entries.map(({ file }) => [file.key, file]));
    }, new Map());
  }

  /** A kept reader would not see that metadata is damaged by now. */
  #freshDeps() {
    return { ...this.#deps, reader: new IcebergReader(this.#deps.store) };
  }

  async #table(): Promise<LoadedTable> {
    const location = await this.#deps.catalog.metadataLocation(this.#ident) ?? "";
    return await new IcebergReader(this.#deps.store).loadTable(this.#ident, location);
  }
}

/** Without sums nobody knows that another copy is the better one. */
function isWhole({ damage, isSummed }: FileCheck): boolean {
  return damage.length === 0 && isSummed;
}

function textOf(
  { what, offset, byteLength }: { what: string; offset: number; byteLength: number },
  count: number,
): string {
  const more = count === 1 ? "" : ` and ${count - 1} more`;
  return `${what} at byte ${offset}, ${byteLength} bytes${more}`;
}

/** What `read` gives; `otherwise` where metadata is damaged or missing. */
async function orElse<T>(read: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isOperatingError(error) || error.code === "unavailable") throw error;
    return otherwise;
  }
}

async function orUndefined<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isOperatingError(error, "not_found")) return undefined;
    throw error;
  }
}
