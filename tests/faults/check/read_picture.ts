/**
 * `read_picture.ts <data folder> <reader>`: all rows of a data folder, by none of the product's
 * code. No process may write to it, and it stays as it is. Tables are read by `icebird`, or by
 * PyIceberg (`pyiceberg`). The segments that the catalog does not call consumed are read by their
 * documented bytes. Prints a `PictureRows` as JSON.
 */

import { join } from "node:path";
import { icebergMetadata, icebergRead } from "icebird";
import { runPython } from "../../engines/python.ts";
import { idsIn } from "../ledger.ts";
import { readCatalog } from "./read_catalog.ts";
import { findSegments, readSegment } from "./wal_bytes.ts";

export const READERS = ["icebird", "pyiceberg"] as const;
export type Reader = typeof READERS[number];

export interface PictureRows {
  /** Ids by table, each as often as it is there. */
  readonly ids: Readonly<Record<string, readonly string[]>>;
  readonly tableRows: number;
  readonly walRows: number;
  readonly segments: number;
  /** Active segments that end within a frame, as those of a power cut do. */
  readonly torn: number;
  /** What may never be: damage of a segment that was complete, or of the catalog. */
  readonly damage: readonly string[];
}

/** Rows of a data folder, tables and WAL together. */
export async function readPicture(dataDir: string, reader: Reader): Promise<PictureRows> {
  const catalog = readCatalog(join(dataDir, "warehouse/catalog.db"));
  const ids: Record<string, string[]> = {};
  const damage = catalog.integrity === "ok" ? [] : [`catalog: ${catalog.integrity}`];
  const tables = [...catalog.tables].filter(([table]) => table !== "query_audit");
  const read = reader === "icebird" ? await byIcebird(tables) : await byPyIceberg(tables);
  let tableRows = 0;
  for (const [table, of] of Object.entries(read)) {
    (ids[table] ??= []).push(...of);
    tableRows += of.length;
  }
  let walRows = 0;
  let torn = 0;
  const segments = findSegments(join(dataDir, "wal"))
    .filter(({ name }) => !catalog.isConsumed(name));
  for (const { table, state, name, path } of segments) {
    const rows = readSegment(await Deno.readFile(path));
    (ids[table] ??= []).push(...rows.ids);
    walRows += rows.ids.length;
    if (rows.damage === undefined) continue;
    if (state === "active") torn += 1;
    else damage.push(`${state}/${name}: ${rows.damage}`);
  }
  return { ids, tableRows, walRows, segments: segments.length, torn, damage };
}

type Locations = readonly (readonly [table: string, location: string])[];

async function byIcebird(tables: Locations): Promise<Record<string, readonly string[]>> {
  const ids: Record<string, readonly string[]> = {};
  for (const [table, location] of tables) {
    const [tableUrl = "", metadataFileName = ""] = location.split("/metadata/");
    const metadata = await icebergMetadata({ tableUrl, metadataFileName });
    // A table that was made, and has no commit yet.
    const isEmpty = (metadata["current-snapshot-id"] ?? -1) === -1;
    const rows = isEmpty ? [] : await icebergRead({ tableUrl, metadata });
    ids[table] = rows.flatMap(({ raw }) => idsIn(String(raw)));
  }
  return ids;
}

async function byPyIceberg(tables: Locations): Promise<Record<string, readonly string[]>> {
  if (tables.length === 0) return {};
  const script = new URL("read_tables.py", import.meta.url).pathname;
  return JSON.parse(await runPython(script, tables.map((pair) => pair.join("="))));
}

if (import.meta.main) {
  const [dataDir = "", reader] = Deno.args;
  const rows = await readPicture(dataDir, reader === "pyiceberg" ? reader : "icebird");
  Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(rows)));
}
