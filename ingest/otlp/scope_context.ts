/**
 * What all records of one scope share, prepared once: core columns, and the resource's and scope's part of
 * `attributes` as JSON text.
 *
 * A record takes the fast path when none of its attribute names meets another name of the row: one of the context, of the
 * record's own fields, or of its other attributes.
 */

import { utf8 } from "../../shared/base/bytes.ts";
import { type CopySource, copySourceOf } from "../../shared/columns/byte_builder.ts";
import type { ContextMembers, NamedValue } from "./context_members.ts";
import { keyOf, type Member, memberOf } from "./merged_attributes.ts";
import type { NameTable } from "./name_table.ts";

/** Record attributes that fill core columns. */
export const SOURCETYPE = "sourcetype";
export const INDEX = "index";
/** Resource attributes that do. */
const HOST_NAME = keyOf("host.name");
const SERVICE_NAME = keyOf("service.name");
/** Members of `attributes` that come from a record's own fields, in their order. */
export const FIELD_NAMES = [
  "severity_text",
  "severity_number",
  "trace_id",
  "span_id",
  "flags",
  "event_name",
  "observed_timestamp_ns",
  "dropped_attributes_count",
] as const;

export type FieldName = typeof FIELD_NAMES[number];

const SOURCETYPE_KEY = keyOf(SOURCETYPE);
const INDEX_KEY = keyOf(INDEX);
const FIELD_KEYS = FIELD_NAMES.map(keyOf);
const HOST_FALLBACK = utf8("unknown");
const SOURCE_FALLBACK = utf8("otel");

export class ScopeContext {
  readonly host: Uint8Array;
  readonly source: Uint8Array;
  /** The members as JSON text without braces; empty when there are none. */
  readonly members: CopySource;
  /** A name of the context equals one of a record's fields: no record may take the fast path. */
  readonly meetsFields: boolean;
  /** The names that a record's attributes may meet, or that fill core columns. */
  readonly names: NameTable;
  /** Whether the resource has members of these names. */
  readonly hasSourcetype: boolean;
  readonly hasIndex: boolean;
  readonly #resource: () => NamedValue[];
  readonly #scope: () => NamedValue[];
  #mergeable: MergeableMembers | undefined;

  constructor(of: ContextMembers) {
    const host = of.take(HOST_NAME);
    const source = of.take(SERVICE_NAME);
    this.host = host ?? HOST_FALLBACK;
    this.source = source ?? of.scopeName ?? SOURCE_FALLBACK;
    const resource = of.resource();
    const merged = of.merged();
    this.hasSourcetype = of.has(resource, SOURCETYPE_KEY);
    this.hasIndex = of.has(resource, INDEX_KEY);
    this.members = copySourceOf(of.text(merged));
    this.names = of.names(merged, ALWAYS_RESERVED);
    this.meetsFields = FIELD_KEYS.some((key) => of.has(merged, key));
    const scope = of.scope({ names: true });
    const texts = of.keep();
    this.#resource = () => texts(resource);
    this.#scope = () => texts(scope);
  }

  /** The members, for records in which names meet. */
  get mergeable(): MergeableMembers {
    this.#mergeable ??= {
      resource: this.#resource().map(({ name, json }) => {
        const other = `resource.${name}`;
        return {
          own: { name, member: memberOf(name, json) },
          renamed: { name: other, member: memberOf(other, json) },
        };
      }),
      scope: this.#scope().map(({ name, json }) => ({ name, member: memberOf(name, json) })),
    };
    return this.#mergeable;
  }
}

interface NamedMember {
  readonly name: string;
  readonly member: Member;
}

interface MergeableMembers {
  /** Each under its own name, and under the one that it has where the record has that name too. */
  readonly resource: readonly { readonly own: NamedMember; readonly renamed: NamedMember }[];
  readonly scope: readonly NamedMember[];
}

/** Sets a member where the newest one stands: a repeated name keeps its last value. */
export function putLast<T>(members: Map<string, T>, name: string, value: T): void {
  members.delete(name);
  members.set(name, value);
}

const ALWAYS_RESERVED = [...FIELD_NAMES, SOURCETYPE, INDEX].map(utf8);
