/**
 * Rooms (folders) of the workspace and what they import, as values to draw. Tests are no part of
 * it. Pure; `draw_rooms.ts` writes the page.
 */

import { functionLengths } from "./function_lengths.ts";
import { importsOf, resolveImport } from "./import_rules.ts";

/** The room of a file by its path; undefined where it is not drawn. */
export type RoomOf = (file: string) => string | undefined;

export interface RoomGraph {
  /** In order of their names. */
  readonly rooms: readonly string[];
  /** What each room imports, itself left out; `isType`: for types alone. */
  readonly arrows: ReadonlyMap<string, readonly Arrow[]>;
}

export interface Arrow {
  readonly to: string;
  readonly isType: boolean;
}

export interface RoomSize {
  readonly room: string;
  readonly files: number;
  readonly lines: number;
  /** The longest function, and its length. */
  readonly longest: { readonly name: string; readonly lines: number };
}

/** `shared/<layer>`, or the role: the rooms of the whole. */
export function partRoom(file: string): string | undefined {
  if (!isDrawn(file)) return undefined;
  const [top = "", below = ""] = file.split("/");
  return top === "shared" ? below : top;
}

/** `duckdb/process` of `shared/engine/duckdb/process/…`; the folder's own files are `(engine)`. */
export function engineRoom(file: string): string | undefined {
  const inner = /^shared\/engine\/(.*)$/.exec(file)?.[1];
  if (inner === undefined || !isDrawn(file)) return undefined;
  return inner.split("/").length === 1 ? "(engine)" : inner.split("/")[0];
}

/** Folder of the file: the rooms whose sizes are told. */
export function folderRoom(file: string): string | undefined {
  return isDrawn(file) ? file.split("/").slice(0, -1).join("/") : undefined;
}

function isDrawn(file: string): boolean {
  return !/_test\.ts$|^tests\/|^shared\/testing\//.test(file);
}

export function roomGraph(sources: ReadonlyMap<string, string>, roomOf: RoomOf): RoomGraph {
  const found = new Map<string, Map<string, boolean>>();
  for (const [file, source] of sources) {
    const from = roomOf(file);
    if (from === undefined) continue;
    const arrows = found.get(from) ?? new Map<string, boolean>();
    found.set(from, arrows);
    for (const { specifier, typeOnly } of importsOf(source)) {
      const to = specifier.startsWith(".") ? roomOf(resolveImport(file, specifier)) : undefined;
      if (to !== undefined && to !== from) arrows.set(to, typeOnly && (arrows.get(to) ?? true));
    }
  }
  const rooms = [...found.keys()].sort();
  return {
    rooms,
    arrows: new Map(rooms.map((room) => {
      const arrows = [...found.get(room) ?? []].map(([to, isType]) => ({ to, isType }));
      return [room, arrows.toSorted((a, b) => a.to < b.to ? -1 : 1)];
    })),
  };
}

/**
 * The graph without the arrows that others imply: what a room reaches by way of another one is not
 * drawn. Arrows for types alone are left out, too.
 */
export function reduced({ rooms, arrows }: RoomGraph): RoomGraph {
  const values = new Map(
    rooms.map((room) => [room, (arrows.get(room) ?? []).filter(({ isType }) => !isType)]),
  );
  return {
    rooms,
    arrows: new Map(rooms.map((room) => {
      const own = values.get(room) ?? [];
      const implied = new Set(
        own.flatMap(({ to }) => reachedFrom(to, { values, but: room })),
      );
      return [room, own.filter(({ to }) => !implied.has(to))];
    })),
  };
}

function reachedFrom(
  start: string,
  { values, but }: {
    readonly values: ReadonlyMap<string, readonly Arrow[]>;
    readonly but: string;
  },
): string[] {
  const reached = new Set<string>([but]);
  const pending = [start];
  for (let room = pending.pop(); room !== undefined; room = pending.pop()) {
    for (const { to } of values.get(room) ?? []) {
      if (to === start || reached.has(to)) continue;
      reached.add(to);
      pending.push(to);
    }
  }
  reached.delete(but);
  return [...reached];
}

/** Sizes of the rooms, in order of their names. */
export function roomSizes(sources: ReadonlyMap<string, string>, roomOf: RoomOf): RoomSize[] {
  const sizes = new Map<string, RoomSize>();
  for (const [file, source] of sources) {
    const room = roomOf(file);
    if (room === undefined) continue;
    const { files = 0, lines = 0, longest = { name: "", lines: 0 } } = sizes.get(room) ?? {};
    const longer = functionLengths(source).reduce(
      (best, { name, lines }) => lines > best.lines ? { name, lines } : best,
      longest,
    );
    const count = source.trimEnd().split("\n").length;
    sizes.set(room, { room, files: files + 1, lines: lines + count, longest: longer });
  }
  return [...sizes.values()].toSorted((a, b) => a.room < b.room ? -1 : 1);
}
