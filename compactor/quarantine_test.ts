import assert from "node:assert/strict";
import { join } from "node:path";
import { openWalClaims } from "../shared/catalog/open_catalog_parts.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import { requeueAll, watchQuarantine } from "./quarantine.ts";

Deno.test({
  name: "the quarantine is counted as it is, also when nothing was quarantined by this process",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "svc-quarantine-" });
    try {
      const path = join(folder, "catalog.db");
      await using claims = await openWalClaims(path, { files: new DenoFileSystem() });
      const request = { claimant: "another", leaseMs: 60_000, attemptsMax: 1 };
      const lane = { tenant: "acme", index: "web" };
      await claims.claim({ ...request, lane, token: "t", segments: ["s1", "s2"] });
      await claims.release("t", { reason: "cannot be read", attemptsMax: 1 });
      assert.equal(await countOf(claims), 2);
      await requeueAll(claims);
      assert.equal(await countOf(claims), 0);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

async function countOf(claims: Parameters<typeof watchQuarantine>[0]): Promise<number | undefined> {
  let count: number | undefined;
  const end = watchQuarantine(claims, { inQuarantine: (segments) => void (count = segments) });
  await end();
  return count;
}
