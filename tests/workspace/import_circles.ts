/**
 * Finds circles of imports: files of which each leads back to itself. Imports for types count, too:
 * who reads one file of a circle has to read them all. Pure; `import_circles_test.ts` applies it to
 * the workspace.
 */

import { importsOf, resolveImport } from "./import_rules.ts";

/** Files by path from the workspace, with the files that each imports. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** Imports of files of the workspace, types included; packages are left out. */
export function importGraph(sources: ReadonlyMap<string, string>): ImportGraph {
  return new Map(
    [...sources].map(([file, source]) => {
      const targets = importsOf(source)
        .filter(({ specifier }) => specifier.startsWith("."))
        .map(({ specifier }) => resolveImport(file, specifier));
      return [file, [...new Set(targets)].filter((target) => sources.has(target))];
    }),
  );
}

/**
 * One circle for each group of files that reach each other: a shortest one through the group's
 * first file by name. Its files stand in the order in which they import each other, and the first
 * one at both ends.
 */
export function circlesOf(graph: ImportGraph): readonly (readonly string[])[] {
  const settled = new Set<string>();
  const circles: (readonly string[])[] = [];
  for (const file of [...graph.keys()].sort()) {
    if (settled.has(file)) continue;
    const circle = circleThrough(file, graph);
    if (circle === undefined) continue;
    circles.push(circle);
    const reached = reachedIn(graph, file);
    for (const other of reached) {
      if (reachedIn(graph, other).has(file)) settled.add(other);
    }
  }
  return circles;
}

/** A shortest way from `start` back to itself. */
function circleThrough(start: string, graph: ImportGraph): readonly string[] | undefined {
  const cameFrom = new Map<string, string>();
  const line = [start];
  for (let file = line.shift(); file !== undefined; file = line.shift()) {
    for (const target of graph.get(file) ?? []) {
      if (target === start) return [...wayTo(file, cameFrom), start];
      if (cameFrom.has(target)) continue;
      cameFrom.set(target, file);
      line.push(target);
    }
  }
  return undefined;
}

function wayTo(end: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const way = [end];
  for (let file = cameFrom.get(end); file !== undefined; file = cameFrom.get(file)) {
    way.unshift(file);
  }
  return way;
}

function reachedIn(graph: ImportGraph, start: string): ReadonlySet<string> {
  const reached = new Set<string>();
  const pending = [start];
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    for (const target of graph.get(file) ?? []) {
      if (reached.has(target)) continue;
      reached.add(target);
      pending.push(target);
    }
  }
  return reached;
}
