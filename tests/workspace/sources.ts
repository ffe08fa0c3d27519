/** The workspace's own source files, for tests that look at all of them. */

export const ROOT = new URL("../../", import.meta.url);

const PARTS = ["cli", "compactor", "ingest", "proto", "query", "shared", "tests", "web"];

/** Text by path from the workspace; `root` is its folder, by default the one of this file. */
export async function readSources(root = ROOT): Promise<ReadonlyMap<string, string>> {
  const sources = new Map<string, string>();
  for (const part of PARTS) {
    for await (const file of sourceFiles(`${part}/`, root)) {
      sources.set(file, await Deno.readTextFile(new URL(file, root)));
    }
  }
  return sources;
}

/** Paths of the source files below `folder`, which ends with a slash. */
export async function* sourceFiles(folder: string, root = ROOT): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(new URL(folder, root))) {
    const path = `${folder}${entry.name}`;
    if (["node_modules", "dist"].includes(entry.name)) continue;
    if (entry.isDirectory) yield* sourceFiles(`${path}/`, root);
    else if (/\.tsx?$/.test(path)) yield path;
  }
}
