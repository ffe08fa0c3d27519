import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";

const HERE = new URL("./", import.meta.url);

/** A phase: its function, and the file that exports it. */
interface Phase {
  readonly name: string;
  readonly file: string;
}

async function read(path: string): Promise<string> {
  return await Deno.readTextFile(new URL(path, HERE));
}

/** The calls of `prepareStatement` into other files, as they stand there, up to its `catch`. */
async function phasesCalled(): Promise<Phase[]> {
  const source = await read("prepare.ts");
  const files = new Map<string, string>();
  for (
    const [, names = "", file = ""] of source.matchAll(/import \{([^}]*)\} from "\.\/([^"]+)"/g)
  ) {
    for (const name of names.split(",")) files.set(name.trim(), file);
  }
  const start = source.indexOf("export async function prepareStatement");
  const body = source.slice(start, source.indexOf("} catch", start));
  return [...body.matchAll(/\b(\w+)\(/g)].flatMap(([, name = ""]) => {
    const file = files.get(name);
    return file === undefined ? [] : [{ name, file }];
  });
}

/** The rows of the first table below a heading of the README: a function and its file. */
async function phasesTold(): Promise<Phase[]> {
  const [, section = ""] = (await read("README.md")).split("\n## Life of a statement\n");
  const [table = ""] = section.slice(section.indexOf("\n|")).split("\n\n");
  return [...table.matchAll(/^\| \w+ \| `(\w+)`, `([^`]+)` \|/gm)]
    .map(([, name = "", file = ""]) => ({ name, file }));
}

Deno.test({
  name: "prepareStatement calls the phases of README's table, in its order",
  fn: async () => {
    const called = await phasesCalled();
    deepStrictEqual(called, await phasesTold());
    ok(called.length >= 10, `${called.length} phases`);
    for (const { name, file } of called) {
      ok((await read(file)).includes(`function ${name}(`), `${file} exports ${name}`);
    }
  },
});

Deno.test({
  name: "prepareStatement enters each file once",
  fn: async () => {
    const files = (await phasesCalled()).map(({ file }) => file);
    strictEqual(new Set(files).size, files.length);
  },
});
