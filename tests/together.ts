/**
 * Test files that are loaded together. `deno test` gives each file a thread with modules of its
 * own. Loading those takes longer than most files' tests. 28 small files of `query` took 9.5 s of
 * processor time each by itself, and 3.4 s together.
 *
 * `together.ts [FOLDERS --] FOLDERS` prints paths for `deno test`: the test files below the first
 * folders, then modules that import the test files below the others, some files each. A test that
 * fails is reported with the file and line where it stands.
 *
 * `deno test` takes files in the order in which they are given, but folders after all files.
 */

import { sourceFiles } from "./workspace/sources.ts";

/** Enough to share modules, and few enough that no group is the last for long. */
const FILES_MAX = 24;
/** Fewer of those below `tests`: their files wait for processes, one after the other. */
const FILES_OF_TESTS_MAX = 6;
const OUT = "tests/dist";

/** Paths of the test files below `folder`, in their order. */
async function testFilesBelow(folder: string): Promise<string[]> {
  const files = await Array.fromAsync(sourceFiles(`${folder}/`));
  return files.filter((file) => /_test\.tsx?$/.test(file)).sort();
}

/** Groups of neighbours, about equal in size. */
export function groupsOf(files: readonly string[], filesMax = FILES_MAX): string[][] {
  const groups = Math.ceil(files.length / filesMax);
  return Array.from({ length: groups }, (_, at) =>
    files.slice(
      Math.floor(at * files.length / groups),
      Math.floor((at + 1) * files.length / groups),
    ));
}

if (import.meta.main) {
  await Deno.remove(OUT, { recursive: true }).catch(() => {});
  await Deno.mkdir(OUT);
  const end = Deno.args.indexOf("--");
  const paths: string[] = [];
  for (const folder of Deno.args.slice(0, Math.max(0, end))) {
    paths.push(...await testFilesBelow(folder));
  }
  for (const folder of Deno.args.slice(end + 1)) {
    const filesMax = folder.startsWith("tests/") ? FILES_OF_TESTS_MAX : FILES_MAX;
    for (const [at, files] of groupsOf(await testFilesBelow(folder), filesMax).entries()) {
      const path = `${OUT}/${folder.replaceAll("/", "_")}_${at + 1}_test.ts`;
      await Deno.writeTextFile(path, files.map((file) => `import "../../${file}";\n`).join(""));
      paths.push(path);
    }
  }
  Deno.stdout.writeSync(new TextEncoder().encode(`${paths.join("\n")}\n`));
}
