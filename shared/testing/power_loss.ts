/** Files and directories in memory, what of them is durable, and what a loss of power leaves. */

import type { SeededRandom } from "./seeded_random.ts";

/**
 * What survives of unsynced changes. `drop`: none. `keep`: all. `prefix`: of each file a random
 * prefix of its unsynced bytes, of the names a random choice. `torn`: random 512-byte sectors, the
 * others zero.
 */
export type PowerLoss = "drop" | "keep" | "prefix" | "torn";

export interface FileNode {
  readonly kind: "file";
  live: Uint8Array<ArrayBuffer>;
  durable: Uint8Array<ArrayBuffer>;
  /** Ranges that a failed sync marked clean without writing them. */
  lost: { from: number; to: number }[];
  mtimeMs: number;
}

export interface DirectoryNode {
  readonly kind: "directory";
  readonly live: Map<string, Node>;
  durable: Map<string, Node>;
}

export type Node = FileNode | DirectoryNode;

const SECTOR_BYTES = 512;

export function newFile(nowMs: number): FileNode {
  return {
    kind: "file",
    live: new Uint8Array(),
    durable: new Uint8Array(),
    lost: [],
    mtimeMs: nowMs,
  };
}

export function newDirectory(): DirectoryNode {
  return { kind: "directory", live: new Map(), durable: new Map() };
}

/** The tree that a machine finds after power was lost. */
export function survivingDirectory(
  directory: DirectoryNode,
  loss: PowerLoss,
  random: SeededRandom,
  survivors = new Map<FileNode, FileNode>(),
): DirectoryNode {
  const kept = new Map<string, Node>();
  for (const name of new Set([...directory.durable.keys(), ...directory.live.keys()])) {
    const durable = directory.durable.get(name);
    const live = directory.live.get(name);
    const node = loss === "drop"
      ? durable
      : loss === "keep"
      ? live
      : random.chance(0.5)
      ? live
      : durable;
    if (node === undefined) continue;
    if (node.kind === "directory") {
      kept.set(name, survivingDirectory(node, loss, random, survivors));
    } else {
      const survivor = survivors.get(node) ?? survivingFile(node, loss, random);
      survivors.set(node, survivor);
      kept.set(name, survivor);
    }
  }
  return { kind: "directory", live: kept, durable: new Map(kept) };
}

function survivingFile(node: FileNode, loss: PowerLoss, random: SeededRandom): FileNode {
  const bytes = survivingBytes(node, loss, random);
  return { kind: "file", live: bytes, durable: bytes.slice(), lost: [], mtimeMs: node.mtimeMs };
}

function survivingBytes(
  node: FileNode,
  loss: PowerLoss,
  random: SeededRandom,
): Uint8Array<ArrayBuffer> {
  const { durable } = node;
  const live = node.live.slice();
  for (const { from, to } of node.lost) live.fill(0, from, to);
  if (loss === "drop") return durable.slice();
  if (loss === "keep") return live;
  const shorter = Math.min(durable.byteLength, live.byteLength);
  const longer = Math.max(durable.byteLength, live.byteLength);
  const length = shorter + random.below(longer - shorter + 1);
  const bytes = new Uint8Array(length);
  if (loss === "prefix") {
    bytes.set((live.byteLength >= length ? live : durable).subarray(0, length));
    return bytes;
  }
  bytes.set(durable.subarray(0, length));
  for (let at = 0; at < length; at += SECTOR_BYTES) {
    if (!random.chance(0.5)) continue;
    const end = Math.min(at + SECTOR_BYTES, length);
    bytes.fill(0, at, end);
    bytes.set(live.subarray(at, end), at);
  }
  return bytes;
}
