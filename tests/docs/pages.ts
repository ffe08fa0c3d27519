/** The pages that users read first: for tests only. */

import { workspacePath } from "../../cli/permissions.ts";

export interface Page {
  /** From the root of the workspace. */
  readonly path: string;
  readonly text: string;
}

/** README.md, CONTRIBUTING.md and what lies in `docs/`, by name, without its folders. */
export async function readPages(): Promise<Page[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(workspacePath("docs"))) {
    if (name.endsWith(".md")) names.push(`docs/${name}`);
  }
  const paths = ["README.md", "CONTRIBUTING.md", ...names.sort()];
  return await Promise.all(
    paths.map(async (path) => ({ path, text: await Deno.readTextFile(workspacePath(path)) })),
  );
}
