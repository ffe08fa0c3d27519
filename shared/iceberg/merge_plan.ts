/**
 * Which small manifests a commit folds into one, so that their number stays bounded while each
 * file's entry is rewritten only a few times.
 *
 * Manifests are in tiers by how many files they have: tier t has FAN_IN^t up to FAN_IN^(t+1) - 1. A
 * tier that reaches FAN_IN members becomes one manifest of the next tier. So at most (FAN_IN - 1)
 * manifests stay per tier, and an entry is written once per tier: log8 of the number of files.
 */

import { CONTENT, liveFiles, type ManifestFile } from "./manifest_list.ts";

export const FAN_IN = 8;
/** A manifest of this many bytes is left as it is. */
export const MANIFEST_BYTES_TARGET = 8 * 1024 * 1024;
/**
 * A manifest of this many files is left as it is, too. A rewrite writes the manifests anew that
 * list what it replaces. The next reader of the table decodes them, at some 20 µs of processor time
 * an entry. With 10,000 files in one manifest that is 200 ms.
 */
export const MANIFEST_FILES_TARGET = FAN_IN ** 3;

export interface ManifestMergePlan {
  readonly kept: readonly ManifestFile[];
  /** Manifests whose entries go, with the new files', into one new manifest. */
  readonly merged: readonly ManifestFile[];
}

/** `addedFiles` new files of partition spec `specId` are to be written in this commit. */
export function planMerge(
  manifests: readonly ManifestFile[],
  added: { files: number; specId: number },
): ManifestMergePlan {
  const small = manifests.filter((manifest) =>
    manifest.content === CONTENT.data && manifest.specId === added.specId &&
    manifest.byteLength < MANIFEST_BYTES_TARGET && liveFiles(manifest) < MANIFEST_FILES_TARGET
  );
  const merged = new Set<ManifestFile>();
  let files = added.files;
  let bytes = 0;
  for (let tier = tierOf(files);; tier = tierOf(files)) {
    const members = small.filter((manifest) =>
      !merged.has(manifest) && tierOf(liveFiles(manifest)) <= tier
    );
    // The new manifest is itself a member, unless nothing would be in it yet.
    const count = members.length + (files > 0 ? 1 : 0);
    const memberBytes = members.reduce((sum, manifest) => sum + manifest.byteLength, 0);
    if (count < FAN_IN || bytes + memberBytes > MANIFEST_BYTES_TARGET) break;
    for (const manifest of members) {
      merged.add(manifest);
      files += liveFiles(manifest);
    }
    bytes += memberBytes;
  }
  return {
    kept: manifests.filter((manifest) => !merged.has(manifest)),
    merged: manifests.filter((manifest) => merged.has(manifest)),
  };
}

function tierOf(files: number): number {
  let tier = 0;
  for (let size = files; size >= FAN_IN; size = Math.floor(size / FAN_IN)) tier += 1;
  return tier;
}
