/** The TypeScript files of the workspace, as texts by path, for what is said of all of them. */

const ROOT = new URL("../../", import.meta.url);
/** Folders with code, in no order. */
export const PARTS = ["cli", "compactor", "ingest", "proto", "query", "shared", "tests"] as const;

/** Texts by path from the workspace; `root` is its folder, by default the one of this file. */
export async function workspaceSources(root = ROOT): Promise<ReadonlyMap<string, string>> {
  const sources = new Map<string, string>();
  for (const part of PARTS) {
    for await (const file of sourceFiles(`${part}/`, root)) {
      sources.set(file, await Deno.readTextFile(new URL(file, root)));
    }
  }
  return sources;
}

async function* sourceFiles(folder: string, root: URL): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(new URL(folder, root))) {
    const path = `${folder}${entry.name}`;
    if (entry.name === "node_modules") continue;
    if (entry.isDirectory) yield* sourceFiles(`${path}/`, root);
    else if (path.endsWith(".ts")) yield path;
  }
}
