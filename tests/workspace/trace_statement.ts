/**
 * Which files of the engine a statement goes through, in order.
 *
 * Runs one statement on a copy of the workspace in which each function of `shared/engine` tells of
 * its first call. Whoever follows the calls, and reads each function where it is called first, goes
 * through the files in this order.
 */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { functionLengths } from "./function_lengths.ts";
import { readSources } from "./sources.ts";

const ENGINE = "shared/engine/";
const STATEMENT = "SELECT timestamp, host, raw FROM events WHERE host = 'h' " +
  "AND timestamp > now() - INTERVAL 90 YEAR ORDER BY timestamp DESC LIMIT 10";

export interface Way {
  readonly statement: string;
  /** Files below `shared/engine`, in the order in which they are entered, and entered again. */
  readonly stays: readonly string[];
}

/** The way through the workspace in `folder`, whose packages are installed in `packages`. */
export async function traceStatement(folder: string, packages: string): Promise<Way> {
  const copy = await Deno.makeTempDir({ prefix: "svc-traced-" });
  try {
    const sources = await readSources(new URL(`file://${folder}/`));
    for (const [file, source] of sources) {
      if (!/^(shared|proto)\//.test(file)) continue;
      await write(join(copy, file), traced(file, source));
    }
    const lab = [...sources.keys()].find((file) => file.endsWith("testing/engine_lab.ts"));
    assert.ok(lab !== undefined, "the workspace has an engine lab");
    await write(join(copy, "run.ts"), RUN.replace("LAB", `./${lab}`));
    await Deno.copyFile(join(packages, "tests/deno.json"), join(copy, "deno.json"));
    await Deno.symlink(join(packages, "tests/node_modules"), join(copy, "node_modules"));
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "--no-lock", "--quiet", "run.ts"],
      cwd: copy,
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    const files: string[] = JSON.parse(new TextDecoder().decode(stdout));
    return { statement: STATEMENT, stays: files.filter((file, at) => file !== files[at - 1]) };
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
}

async function write(path: string, text: string): Promise<void> {
  await Deno.mkdir(dirname(path), { recursive: true });
  await Deno.writeTextFile(path, text);
}

/** Functions of the engine begin with a note of themselves. */
function traced(file: string, source: string): string {
  if (!file.startsWith(ENGINE) || file.endsWith("_test.ts")) return source;
  const lines = source.split("\n");
  for (const { line, bodyLine } of functionLengths(source)) {
    const note = JSON.stringify([file.slice(ENGINE.length), line]);
    lines[bodyLine - 1] += ` globalThis.__entered?.(${note});`;
  }
  return lines.join("\n");
}

/** The statement runs once before: what is made at the first one is no part of its way. */
const RUN = `import { EngineLab } from "LAB";
const lab = await EngineLab.open();
const rows = Array.from({ length: 100 }, (_, i) => ({ ns: 1_790_000_000_000_000_000n + BigInt(i) }));
await lab.commit(rows);
const sql = ${JSON.stringify(STATEMENT)};
await lab.query(sql);
const known = new Set();
const files = [];
globalThis.__entered = ([file, line]) => {
  if (known.has(file + line)) return;
  known.add(file + line);
  files.push(file);
};
await lab.query(sql);
globalThis.__entered = undefined;
Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(files)));
Deno.exit(0);
`;
