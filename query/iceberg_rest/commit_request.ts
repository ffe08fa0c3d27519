/**
 * What an engine asks of a commit: requirements on the table as it is, and updates of it, as the
 * OpenAPI document of the Iceberg project has them. Ids keep all of their digits.
 */

import { z } from "zod";
import { textOf } from "../../shared/base/bytes.ts";
import { messageOf, OperatingError } from "../../shared/base/errors.ts";
import { parseLosslessJson } from "../../shared/iceberg/lossless_json.ts";
import type { TableMetadata } from "../../shared/iceberg/table_metadata.ts";

const ID = z.union([z.int(), z.bigint()]).transform((value) => BigInt(value));

const REQUIREMENT = z.looseObject({ type: z.string() });
const UPDATE = z.looseObject({ action: z.string() });

const REQUEST = z.looseObject({
  requirements: z.array(REQUIREMENT).max(1_000).default([]),
  updates: z.array(UPDATE).max(1_000),
});

export type CommitRequest = z.infer<typeof REQUEST>;
export type Requirement = z.infer<typeof REQUIREMENT>;
export type TableUpdate = z.infer<typeof UPDATE>;

/** Errors: `invalid_argument` for what is no such request. */
export function parseCommit(body: Uint8Array): CommitRequest {
  let json: unknown;
  try {
    json = parseLosslessJson(textOf(body));
  } catch (cause) {
    throw refusedCommit(`the request body is no JSON: ${messageOf(cause)}`);
  }
  return parsed(REQUEST, json, "the request");
}

/** What `schema` makes of a part of a request. Errors: `invalid_argument`. */
export function parsed<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw refusedCommit(`${what} is not as the protocol has it: ${z.prettifyError(result.error)}`);
}

/** A commit that is not taken, and why: the engine gives it up. */
export function refusedCommit(why: string): OperatingError {
  return new OperatingError("invalid_argument", `Cannot commit: ${why}`, {
    reason: "commit_refused",
  });
}

const REF = z.looseObject({ ref: z.string(), "snapshot-id": ID.nullish() });
const UUID = z.looseObject({ uuid: z.string() });

/** What each requirement asks, and what the table has in its place. */
const ASSERTIONS: Readonly<
  Record<
    string,
    (requirement: Requirement, metadata: TableMetadata) => readonly [asked: unknown, is: unknown]
  >
> = {
  "assert-create": () => ["no such table", "a table"],
  "assert-table-uuid": (requirement, metadata) => [
    parsed(UUID, requirement, "a requirement").uuid.toLowerCase(),
    metadata["table-uuid"].toLowerCase(),
  ],
  "assert-ref-snapshot-id": (requirement, metadata) => {
    const { ref, "snapshot-id": id } = parsed(REF, requirement, "a requirement");
    return [id ?? undefined, snapshotOfRef(metadata, ref)];
  },
  "assert-last-assigned-field-id": numbers("last-assigned-field-id", "last-column-id"),
  "assert-current-schema-id": numbers("current-schema-id", "current-schema-id"),
  "assert-last-assigned-partition-id": numbers("last-assigned-partition-id", "last-partition-id"),
  "assert-default-spec-id": numbers("default-spec-id", "default-spec-id"),
  "assert-default-sort-order-id": numbers("default-sort-order-id", "default-sort-order-id"),
};

function numbers(asked: string, own: keyof TableMetadata): (typeof ASSERTIONS)[string] {
  return (requirement, metadata) => [requirement[asked], metadata[own]];
}

/**
 * Errors: `conflict` (`requirement_failed`) when the table is not as the engine took it for: it
 * reads the table again and retries. `invalid_argument` for a requirement that is not known.
 */
export function checkRequirements(
  requirements: readonly Requirement[],
  metadata: TableMetadata,
): void {
  for (const requirement of requirements) {
    const assertion = ASSERTIONS[requirement.type];
    if (assertion === undefined) {
      throw refusedCommit(`requirement ${JSON.stringify(requirement.type)} is not known`);
    }
    const [asked, is] = assertion(requirement, metadata);
    if (asked === is) continue;
    throw new OperatingError(
      "conflict",
      `Cannot commit: ${requirement.type} asks for ${String(asked)}, and the table has ` +
        `${String(is)}: another commit was first. Load the table again and retry.`,
      { reason: "requirement_failed" },
    );
  }
}

/** The snapshot that a branch or tag names; undefined: there is none. */
function snapshotOfRef(metadata: TableMetadata, ref: string): bigint | undefined {
  const named = metadata.refs[ref]?.["snapshot-id"];
  if (named !== undefined || ref !== "main") return named;
  const current = metadata["current-snapshot-id"];
  return typeof current === "bigint" && current !== -1n ? current : undefined;
}
