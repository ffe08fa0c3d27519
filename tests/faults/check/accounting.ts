/**
 * The two readers of a run: SQL through the query server, and the independent one over a copy of
 * the disk. The copy is mounted at the original's place, in a mount namespace of its own.
 */

import type { Stack } from "../../apps/stack.ts";
import type { FileSystem } from "../disk/volatile_disk.ts";
import { idsIn, type RowCounts } from "../ledger.ts";
import { run } from "../commands.ts";
import type { PictureRows, Reader } from "./read_picture.ts";

const ROWS_MAX = 1_000_000;

/** Each row that the query server has of some tables, with how often. */
export async function countBySql(stack: Stack, tables: Iterable<string>): Promise<RowCounts> {
  const counts = new Map<string, ReadonlyMap<string, number>>();
  for (const table of tables) {
    const answer = await stack.sql(`SELECT raw FROM ${table}`, {
      default_order: false,
      limits: { max_rows_returned: ROWS_MAX },
    }).catch((error: unknown) => {
      // Nobody has sent a row to it yet.
      if (String(error).includes("unknown_table")) return { rows: [] };
      throw error;
    });
    counts.set(table, countIds(answer.rows.flatMap(([raw]) => idsIn(String(raw)))));
  }
  return counts;
}

export interface PicturePlace {
  readonly image: string;
  readonly fileSystem: FileSystem;
  /** Where the disk is mounted: locations in the table's metadata begin with it. */
  readonly mountPoint: string;
  readonly dataDir: string;
}

/** All rows of a disk's image, by the independent reader. The image is used up. */
export async function readImage(place: PicturePlace, reader: Reader): Promise<PictureRows> {
  const { image, fileSystem, mountPoint, dataDir } = place;
  const options = fileSystem === "xfs" ? "loop,nouuid" : "loop";
  // The copy of the original's mount would keep it busy.
  const script =
    'umount --lazy "$1" 2>/dev/null; mount -t "$2" -o "$3" "$4" "$1" && shift 4 && exec "$@"';
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const reading = new URL("read_picture.ts", import.meta.url).pathname;
  const deno = ["run", "-A", "--no-check", "--quiet", "--config", config, reading, dataDir, reader];
  const printed = await run(
    ...["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"] as const,
    ...[mountPoint, fileSystem, options, image, Deno.execPath(), ...deno],
  );
  return JSON.parse(printed);
}

export function countPicture({ ids }: PictureRows): RowCounts {
  return new Map(Object.entries(ids).map(([table, of]) => [table, countIds(of)]));
}

function countIds(ids: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}
