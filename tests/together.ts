/**
 * Test files that are loaded together. `deno test` gives each file a thread with modules of its
 * own. Loading those takes longer than most files' tests. 28 small files of `query` took 9.5 s of
 * processor time each by itself, and 3.4 s together.
 *
 * `together.ts FOLDER[=FILES]...` prints paths for `deno test`, in the order of the folders. They
 * are the test files below `FOLDER`, or modules that each import so many of them. A test that fails
 * is reported with the file and line where it stands.
 *
 * `deno test` takes files in the order in which they are given, but folders after all files.
 */

import { sourceFiles } from "./workspace/sources.ts";

const OUT = "tests/dist";

/** Paths of the test files below `folder`, in their order. */
async function testFilesBelow(folder: string): Promise<string[]> {
  const files = await Array.fromAsync(sourceFiles(`${folder}/`));
  return files.filter((file) => /_test\.tsx?$/.test(file)).sort();
}

/** Groups of neighbours, about equal in size. */
export function groupsOf(files: readonly string[], filesMax: number): string[][] {
  const groups = Math.ceil(files.length / filesMax);
  return Array.from({ length: groups }, (_, at) =>
    files.slice(
      Math.floor(at * files.length / groups),
      Math.floor((at + 1) * files.length / groups),
    ));
}

/** Writes a module that imports the files; its path. */
async function writeGroup(name: string, files: readonly string[]): Promise<string> {
  const path = `${OUT}/${name}_test.ts`;
  await Deno.writeTextFile(path, files.map((file) => `import "../../${file}";\n`).join(""));
  return path;
}

if (import.meta.main) {
  await Deno.remove(OUT, { recursive: true }).catch(() => {});
  await Deno.mkdir(OUT);
  const paths: string[] = [];
  for (const asked of Deno.args) {
    const [folder = "", filesMax] = asked.split("=");
    const files = await testFilesBelow(folder);
    if (filesMax === undefined) {
      paths.push(...files);
      continue;
    }
    for (const [at, group] of groupsOf(files, Number(filesMax)).entries()) {
      paths.push(await writeGroup(`${folder.replaceAll("/", "_")}_${at + 1}`, group));
    }
  }
  Deno.stdout.writeSync(new TextEncoder().encode(`${paths.join("\n")}\n`));
}
