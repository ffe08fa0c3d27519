/**
 * A sealed segment rots and another one disappears while the compactor is away, under the real
 * processes. Answers say what they lack. However often the compactor is killed, it commits each
 * intact row once, keeps the damaged bytes, and tells of the missing segment.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { damagedPath, segmentPath } from "../../shared/wal/layout.ts";
import { openWalReader } from "../../shared/wal/reader.ts";
import { Stack } from "../apps/stack.ts";

const LANE = { tenant: "default", index: "events" };
const WAIT_MS_MAX = 60_000;
const KILLS = 4;

interface Answer {
  readonly rows: readonly (readonly unknown[])[];
  readonly cost: { readonly exact: boolean; readonly warnings: readonly string[] };
  readonly stats: { readonly wal_damage?: { readonly rows?: number } };
}

Deno.test({
  name: "Stack: a rotten and a missing segment are told, and no intact row is lost or doubled",
  async fn() {
    await using stack = await Stack.start({ rollAgeSecs: 1 });
    await stack.kill("compactor");
    const root = join(stack.dataDir, "wal");
    const files = new DenoFileSystem();
    const [rotten = ""] = await sealed(stack, root, ["a0", "a1", "a2", "a3"]);
    const [gone = ""] = await sealed(stack, root, ["b0"], [rotten]);
    await Deno.remove(segmentPath(root, LANE, { state: "sealed", name: gone }));
    const lost = await rot(root, rotten);

    const ask = async (): Promise<Answer> =>
      await stack.sql("SELECT raw FROM events ORDER BY raw") as unknown as Answer;
    const before = await ask();
    const intact = ["a0", "a1", "a2", "a3"].filter((raw) => before.rows.flat().includes(raw));
    assert.deepEqual(before.rows, intact.map((raw) => [raw]), "each once");
    assert.equal(intact.length, 4 - lost);
    assertTold(before, lost);

    for (let kill = 0; kill < KILLS; kill += 1) {
      const starting = stack.ensure("compactor").catch(() => {});
      // At its start, in its first drain, behind it.
      await new Promise((resolve) => setTimeout(resolve, 300 + 700 * kill));
      await stack.kill("compactor");
      await starting;
      const answer = await ask();
      assert.deepEqual(answer.rows, before.rows, `after kill ${kill}`);
      assertTold(answer, lost);
    }
    await stack.ensure("compactor");
    await until(async () => !await files.exists(segmentPath(root, LANE, sealedPlace(rotten))));
    const latest = await stack.sql("SELECT raw FROM events ORDER BY raw", { snapshot: "latest" });
    assert.deepEqual(latest.rows, before.rows, "in the table");
    assertTold(await ask(), lost);
    assert.ok(await files.exists(damagedPath(root, LANE, rotten)));
    await until(async () => {
      const page = await (await fetch(stack.compactorMetricsUrl)).text();
      return /^svc_wal_missing_segments 1$/m.test(page);
    });
    const told = await stack.stop("compactor");
    assert.match(told, new RegExp(`${gone}.*is gone, and no table has them`));
  },
});

function assertTold({ cost, stats }: Answer, rows: number): void {
  assert.equal(stats.wal_damage?.rows, rows);
  assert.equal(cost.exact, false);
  assert.match(cost.warnings.join(), /damaged and missing in this answer/);
}

function sealedPlace(name: string) {
  return { state: "sealed", name } as const;
}

/** Sends a request for each text; the names of the segments that were sealed of them. */
async function sealed(
  stack: Stack,
  root: string,
  texts: readonly string[],
  known: readonly string[] = [],
): Promise<string[]> {
  const sent = texts.map((text) => stack.sendLogs([text], { commit: "wait_for" }));
  assert.ok((await Promise.all(sent)).every((isAcknowledged) => isAcknowledged));
  const reader = openWalReader(new DenoFileSystem(), root);
  const names = async (state: "active" | "sealed") =>
    (await reader.list(LANE, [state])).map(({ name }) => name);
  await until(async () =>
    (await names("active")).length === 0 && (await names("sealed")).length > known.length
  );
  return (await names("sealed")).filter((name) => !known.includes(name));
}

/** Changes a byte in the last frame of a segment; the rows of that frame. */
async function rot(root: string, name: string): Promise<number> {
  const path = segmentPath(root, LANE, sealedPlace(name));
  await using segment = await openWalReader(new DenoFileSystem(), root).open(LANE, name);
  const frame = (await Array.fromAsync(segment.frames())).at(-1);
  assert.ok(frame !== undefined);
  const bytes = await Deno.readFile(path);
  bytes[frame.offset + 100] = (bytes[frame.offset + 100] ?? 0) ^ 2;
  await Deno.writeFile(path, bytes);
  return frame.rows;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const endMs = Date.now() + WAIT_MS_MAX;
  while (!await isSo()) {
    assert.ok(Date.now() < endMs, "it did not come to that in time");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
