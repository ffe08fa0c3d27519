/**
 * A bit of a stored file flips: the running compactor finds it, `svc scrub` tells of it by its
 * status, and brings the file back from a backup. As processes.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { Stack } from "./stack.ts";
import { svc, until } from "./svc_process.ts";

Deno.test({
  name: "svc scrub finds a flipped bit beside running roles, and repairs it from a backup",
  async fn() {
    await using stack = await Stack.start({ rollAgeSecs: 1 });
    const { dataDir } = stack;
    const backup = await Deno.makeTempDir({ prefix: "svc-scrub-" });
    await using place = new AsyncDisposableStack();
    place.defer(() => Deno.remove(backup, { recursive: true }));
    assert.equal(await stack.sendLogs(["a", "b", "c"], { commit: "force" }), true);
    const clean = await svc(["scrub", "--data-dir", dataDir]);
    assert.equal(clean.code, 0, clean.notes);
    assert.match(clean.output, /svc\.events \| +\d+ \| +\d+ \| +0 \| +0 \| +0$/m);
    const made = await svc(["backup", "--to", backup, "--data-dir", dataDir]);
    assert.equal(made.code, 0, made.notes);

    const file = await dataFile(join(dataDir, "warehouse/svc"));
    const whole = await Deno.readFile(file);
    const flipped = whole.slice();
    flipped[20] = (flipped[20] ?? 0) ^ 1;
    await Deno.writeFile(file, flipped);
    const found = await svc(["scrub", "--data-dir", dataDir]);
    assert.equal(found.code, 1);
    assert.match(found.notes, /\.parquet: the chunk of column .*\n.*--repair-from/);
    const told = await svc(["table-info", "--data-dir", dataDir]);
    assert.match(told.output, /svc\.events .* 20\d\d-\d\d-\d\dT\S+ \| +1 *$/m);
    const refused = await svc(["backup", "--to", backup + "/other", "--data-dir", dataDir]);
    assert.equal(refused.code, 1, "a backup launders no damage");
    assert.match(refused.notes, /\.parquet: the chunk of column/);
    await stack.stop("compactor");
    await stack.ensure("compactor");
    await until(async () => /^svc_table_damaged_files\{[^}]*\} 1$/m.test(await metrics(stack)));

    const nowhere = await svc(["scrub", "--data-dir", dataDir, "--repair-from", backup + "/none"]);
    assert.equal(nowhere.code, 1);
    assert.match(nowhere.notes, /Cannot repair from .*\/none: there is no point of a backup/);
    assert.equal(nowhere.output, "");
    const repaired = await svc(["scrub", "--data-dir", dataDir, "--repair-from", backup]);
    assert.equal(repaired.code, 0, repaired.notes);
    assert.match(repaired.output, /svc\.events .* +1 \| +0$/m);
    assert.deepEqual(await Deno.readFile(file), whole);
    const { rows } = await stack.sql("SELECT raw FROM events ORDER BY raw");
    assert.deepEqual(rows, [["a"], ["b"], ["c"]]);
    assert.doesNotMatch(await stack.stop("compactor"), /NotCapable/);
  },
});

Deno.test({
  name: "a compactor scrubs what it stored by itself, and says so in its metrics",
  async fn() {
    await using stack = await Stack.start({ rollAgeSecs: 1 });
    assert.equal(await stack.sendLogs(["a"], { commit: "force" }), true);
    await stack.stop("compactor");
    const file = await dataFile(join(stack.dataDir, "warehouse/svc"));
    const flipped = await Deno.readFile(file);
    flipped[20] = (flipped[20] ?? 0) ^ 1;
    await Deno.writeFile(file, flipped);
    await stack.ensure("compactor");
    await until(async () => /^svc_table_damaged_files\{[^}]*\} 1$/m.test(await metrics(stack)));
    assert.match(
      await metrics(stack),
      /^svc_compactor_scrubbed_files_total\{outcome="intact"\} [1-9]/m,
    );
    assert.match(await stack.stop("compactor"), /\.parquet is damaged, the chunk of column/);
  },
});

async function metrics({ compactorMetricsUrl }: Stack): Promise<string> {
  return await (await fetch(compactorMetricsUrl)).text();
}

/** The one data file of the table `events`. */
async function dataFile(folder: string): Promise<string> {
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.startsWith("events-")) continue;
    for await (const day of Deno.readDir(join(folder, name, "data"))) {
      for await (const file of Deno.readDir(join(folder, name, "data", day.name))) {
        return join(folder, name, "data", day.name, file.name);
      }
    }
  }
  throw new Error(`no data file below ${folder}`);
}
