/**
 * Cuts the files of a statement into shards of about equal bytes. A file goes to the server that a
 * rendezvous hash ranks first, so that it is in that server's cache the next time. A server that
 * has 10 % more than its share already takes no more. Pure.
 */

import { present } from "../../shared/base/assert.ts";
import type { ShardFile } from "../../shared/engine/shards/shard.ts";
import type { SpreadFile } from "../../shared/engine/shards/spread.ts";

/** A shard, and the server that is asked for it first. */
export interface CutShard {
  readonly node: string;
  readonly files: readonly ShardFile[];
  readonly bytes: number;
  /** Whether no other server can run it; default: others can. */
  readonly isOwn?: boolean;
}

/** Pieces of one statement for each server, at least, where its files can be cut so. */
const PIECES_PER_NODE = 4;
/** Smaller pieces are not made of a file: each has a request and a plan of its own. */
const PIECE_BYTES_MIN = 4 * 1024 * 1024;
/** A shard has at most so many bytes, unless one file has more. */
const SHARD_BYTES = 256 * 1024 * 1024;
/** Files of a shard: their keys must fit in a request. */
const SHARD_FILES_MAX = 4_096;
const LOAD_MAX = 1.1;

/** `nodes` are the names of the servers, each once. The order of either list does not matter. */
export function cutShards(
  files: readonly SpreadFile[],
  nodes: readonly string[],
): readonly CutShard[] {
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const unit = Math.max(PIECE_BYTES_MIN, total / (nodes.length * PIECES_PER_NODE));
  const pieces = files.flatMap((file) => piecesOf(file, unit))
    .sort((a, b) => b.bytes - a.bytes || compare(nameOf(a), nameOf(b)));
  const loads = new Map(nodes.map((node) => [node, 0]));
  const homes = new Map<string, Piece[]>();
  const share = total / nodes.length * LOAD_MAX;
  for (const piece of pieces) {
    const node = homeOf(piece, loads, share);
    loads.set(node, (loads.get(node) ?? 0) + piece.bytes);
    homes.set(node, [...homes.get(node) ?? [], piece]);
  }
  return [...homes].sort(([a], [b]) => compare(a, b))
    .flatMap(([node, own]) => shardsOf(own).map((shard) => ({ node, ...shard })));
}

/** The names of `nodes`, those that a key ranks first before the others. */
export function rankedNodes(key: string, nodes: readonly string[]): readonly string[] {
  return nodes.map((node) => ({ node, weight: weightOf(key, node) }))
    .sort((a, b) => b.weight - a.weight || compare(a.node, b.node)).map(({ node }) => node);
}

interface Piece {
  readonly file: ShardFile;
  readonly bytes: number;
}

/** A file, or runs of its row groups of about `unit` bytes. */
function piecesOf({ key, bytes, rows, groups }: SpreadFile, unit: number): Piece[] {
  if (bytes <= 1.25 * unit || groups.length < 2) return [{ file: { key }, bytes }];
  const count = Math.min(groups.length, Math.ceil(bytes / unit));
  const pieces: Piece[] = [];
  let first = 0;
  for (const { end } of groups) {
    const wanted = rows * (pieces.length + 1) / count;
    if (end < wanted && end < rows) continue;
    pieces.push({ file: { key, rows: { first, end } }, bytes: bytes * (end - first) / rows });
    first = end;
  }
  return pieces;
}

function homeOf(piece: Piece, loads: ReadonlyMap<string, number>, share: number): string {
  const ranked = rankedNodes(nameOf(piece), [...loads.keys()]);
  const load = (node: string) => loads.get(node) ?? 0;
  const open = ranked.find((node) => load(node) + piece.bytes <= share);
  return open ?? present(ranked.toSorted((a, b) => load(a) - load(b))[0], "a server");
}

/** Pieces of one server, as few shards as their bounds allow. */
function shardsOf(pieces: readonly Piece[]): Omit<CutShard, "node">[] {
  const bytes = pieces.reduce((sum, piece) => sum + piece.bytes, 0);
  const count = Math.min(
    pieces.length,
    Math.max(Math.ceil(bytes / SHARD_BYTES), Math.ceil(pieces.length / SHARD_FILES_MAX)),
  );
  const shards = Array.from({ length: Math.max(1, count) }, () => ({
    files: [] as ShardFile[],
    bytes: 0,
  }));
  for (const [at, piece] of pieces.entries()) {
    // There and back, as the pieces are in the order of their bytes.
    const turn = at % (2 * shards.length);
    const shard = present(shards[turn < shards.length ? turn : 2 * shards.length - 1 - turn]);
    shard.files.push(piece.file);
    shard.bytes += piece.bytes;
  }
  return shards;
}

function nameOf({ file: { key, rows } }: Piece): string {
  return rows === undefined ? key : `${key}#${rows.first}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A hash of both names: FNV-1a over them, mixed as MurmurHash3 ends. */
function weightOf(key: string, node: string): number {
  let hash = 0x811c9dc5;
  const text = `${node}\0${key}`;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ hash >>> 16, 0x85ebca6b);
  hash = Math.imul(hash ^ hash >>> 13, 0xc2b2ae35);
  return (hash ^ hash >>> 16) >>> 0;
}
