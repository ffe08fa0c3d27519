/** The body of a shard's request: written by a coordinator, read by a worker. */

import { z } from "zod";
import { textOf } from "../../shared/base/bytes.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import type { ShardFile } from "../../shared/engine/shards/shard.ts";

const FILES_MAX = 8_192;
const KEY_CHARS_MAX = 1_024;
const NAME_CHARS_MAX = 256;

const key = z.string().min(1).max(KEY_CHARS_MAX);
const row = z.int().min(0);
const name = z.string().min(1).max(NAME_CHARS_MAX);

const SHARD_REQUEST = z.object({
  query: z.string().min(1),
  shard: z.object({ index: z.int().min(0), count: z.int().min(1) })
    .refine(({ index, count }) => index < count, "the index is below the count"),
  table: name,
  pin: z.string(),
  files: z.array(z.union([z.tuple([key]), z.tuple([key, row, row])])).max(FILES_MAX),
  namespace: z.string().min(1).max(NAME_CHARS_MAX),
  tenant: z.string().min(1).max(NAME_CHARS_MAX),
  subject: z.string().max(KEY_CHARS_MAX).optional(),
  email: z.string().max(KEY_CHARS_MAX).optional(),
  timeout_ms: z.number().positive(),
});

/** A shard as it is asked for. */
export interface ShardRequest {
  readonly query: string;
  readonly shard: { readonly index: number; readonly count: number };
  readonly table: string;
  readonly pin: string;
  readonly files: readonly ShardFile[];
  readonly namespace: string;
  readonly tenant: string;
  readonly subject?: string | undefined;
  readonly email?: string | undefined;
  readonly timeoutMs: number;
}

/** The body's JSON text. */
export function writeShardRequest({ files, timeoutMs, ...fields }: ShardRequest): string {
  return JSON.stringify({
    ...fields,
    files: files.map(({ key, rows }) => rows === undefined ? [key] : [key, rows.first, rows.end]),
    timeout_ms: timeoutMs,
  });
}

/** Errors: `invalid_argument` (`invalid_body`). */
export function readShardRequest(body: Uint8Array): ShardRequest {
  const parsed = SHARD_REQUEST.safeParse(jsonOf(body));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = issue?.path.join(".") || "the body";
    throw invalid(`${where} of a shard's request: ${issue?.message ?? "it is none"}`);
  }
  const { files, timeout_ms: timeoutMs, ...fields } = parsed.data;
  return { ...fields, timeoutMs, files: files.map(fileOf) };
}

function fileOf([key, first, end]: readonly [string] | readonly [string, number, number]) {
  if (first === undefined || end === undefined) return { key };
  if (first >= end) throw invalid(`rows ${first} to ${end} of ${key}: they are none`);
  return { key, rows: { first, end } };
}

function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(body));
  } catch {
    throw invalid("the body of a shard's request: it is no JSON");
  }
}

function invalid(what: string): OperatingError {
  return new OperatingError("invalid_argument", `Cannot use ${what}`, { reason: "invalid_body" });
}
