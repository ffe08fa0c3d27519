/** The workspace's own source files, for tests that look at all of them. */

export const ROOT = new URL("../../", import.meta.url);

const PARTS = ["cli", "compactor", "ingest", "proto", "query", "shared", "tests"];

/** Text by path from the workspace. */
export async function readSources(): Promise<ReadonlyMap<string, string>> {
  const sources = new Map<string, string>();
  for (const part of PARTS) {
    for await (const file of sourceFiles(`${part}/`)) {
      sources.set(file, await Deno.readTextFile(new URL(file, ROOT)));
    }
  }
  return sources;
}

async function* sourceFiles(folder: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(new URL(folder, ROOT))) {
    const path = `${folder}${entry.name}`;
    if (entry.name === "node_modules") continue;
    if (entry.isDirectory) yield* sourceFiles(`${path}/`);
    else if (path.endsWith(".ts")) yield path;
  }
}
