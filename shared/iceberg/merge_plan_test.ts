import assert from "node:assert/strict";
import fc from "fast-check";
import { CONTENT, type ManifestFile } from "./manifest_list.ts";
import { FAN_IN, MANIFEST_BYTES_TARGET, planMerge } from "./merge_plan.ts";

const BYTES_PER_FILE = 300;

function manifest(files: number, more: Partial<ManifestFile> = {}): ManifestFile {
  return {
    location: "m",
    byteLength: 4_000 + files * BYTES_PER_FILE,
    specId: 0,
    content: CONTENT.data,
    sequenceNumber: 1n,
    minSequenceNumber: 1n,
    addedSnapshotId: 1n,
    addedFiles: files,
    existingFiles: 0,
    deletedFiles: 0,
    addedRows: 0n,
    existingRows: 0n,
    deletedRows: 0n,
    partitions: undefined,
    keyMetadata: undefined,
    ...more,
  };
}

/** Applies a commit: the new manifest has the new files and all of the merged ones'. */
function commit(manifests: readonly ManifestFile[], files: number) {
  const plan = planMerge(manifests, { files, specId: 0 });
  const merged = plan.merged.reduce((sum, one) => sum + one.addedFiles, 0);
  const after = files + merged === 0 ? plan.kept : [manifest(files + merged), ...plan.kept];
  return { after, rewritten: merged };
}

Deno.test({
  name: "planMerge keeps few manifests and rewrites an entry once per tier",
  fn() {
    let manifests: readonly ManifestFile[] = [];
    let rewritten = 0;
    let most = 0;
    const commits = 4_096;
    for (let i = 0; i < commits; i += 1) {
      const step = commit(manifests, 1);
      manifests = step.after;
      rewritten += step.rewritten;
      most = Math.max(most, manifests.length);
    }
    const tiers = Math.log(commits) / Math.log(FAN_IN) + 1;
    assert.ok(most <= (FAN_IN - 1) * tiers, `${most} manifests`);
    assert.ok(rewritten <= commits * tiers, `${rewritten} entries rewritten`);
    assert.equal(manifests.reduce((sum, one) => sum + one.addedFiles, 0), commits);
  },
});

Deno.test({
  name: "planMerge loses no manifest and stays bounded for commits of any size",
  fn() {
    fc.assert(fc.property(fc.array(fc.nat(40), { maxLength: 200 }), (sizes) => {
      let manifests: readonly ManifestFile[] = [];
      let total = 0;
      for (const size of sizes) {
        manifests = commit(manifests, size).after;
        total += size;
        assert.equal(manifests.reduce((sum, one) => sum + one.addedFiles, 0), total);
        assert.ok(manifests.length <= (FAN_IN - 1) * 6, `${manifests.length} manifests`);
      }
    }));
  },
});

Deno.test({
  name: "planMerge leaves large, delete and other specs' manifests alone",
  fn() {
    const others = [
      manifest(1, { byteLength: MANIFEST_BYTES_TARGET }),
      manifest(1, { content: CONTENT.deletes }),
      manifest(1, { specId: 1 }),
    ];
    const small = Array.from({ length: FAN_IN }, () => manifest(1));
    const plan = planMerge([...small, ...others], { files: 1, specId: 0 });
    assert.deepEqual(plan, { kept: others, merged: small });
  },
});

Deno.test({
  name: "planMerge makes no manifest over the target size",
  fn() {
    const half = MANIFEST_BYTES_TARGET / 2;
    const manifests = Array.from({ length: FAN_IN }, () => manifest(1, { byteLength: half }));
    assert.equal(planMerge(manifests, { files: 1, specId: 0 }).merged.length, 0);
  },
});
