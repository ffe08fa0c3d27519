/**
 * What all records of one scope share, prepared once: core columns, and the resource's and scope's
 * part of `attributes` as JSON text.
 *
 * A record takes the fast path when none of its attribute names meets another name of the row.
 * Other names are those of the context, of the record's own fields, and of its other attributes.
 */

import { utf8 } from "../../shared/base/bytes.ts";
import type { CopySource } from "../../shared/columns/byte_builder.ts";
import type { ContextMembers, NamedValue } from "./attributes/context_members.ts";
import { nameKeyOf, type OtherMembers, otherMembers } from "./attributes/merged_attributes.ts";
import type { NameTable } from "./attributes/name_table.ts";

/** Record attributes that fill core columns. */
export const SOURCETYPE = "sourcetype";
export const INDEX = "index";
/** Resource attributes that do. */
const HOST_NAME = nameKeyOf("host.name");
const SERVICE_NAME = nameKeyOf("service.name");
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

const SOURCETYPE_KEY = nameKeyOf(SOURCETYPE);
const INDEX_KEY = nameKeyOf(INDEX);
const FIELD_KEYS = FIELD_NAMES.map(nameKeyOf);
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
  readonly names: () => NameTable;
  /** Whether the resource has members of these names. */
  readonly hasSourcetype: boolean;
  readonly hasIndex: boolean;
  readonly #resource: () => NamedValue[];
  readonly #scope: () => NamedValue[];
  #members: MergeableMembers | undefined;
  readonly #others = new Map<string, OtherMembers>();

  constructor(of: ContextMembers) {
    const host = of.take(HOST_NAME);
    const source = of.take(SERVICE_NAME);
    this.host = host ?? HOST_FALLBACK;
    this.source = source ?? of.scopeName ?? SOURCE_FALLBACK;
    const resource = of.resource();
    const merged = of.merged();
    this.hasSourcetype = of.has(resource, SOURCETYPE_KEY);
    this.hasIndex = of.has(resource, INDEX_KEY);
    this.meetsFields = FIELD_KEYS.some((key) => of.has(merged, key));
    const scope = of.scope({ names: true });
    const { text, names, texts } = of.keep(merged, ALWAYS_RESERVED);
    this.members = text;
    this.names = names;
    this.#resource = () => texts(resource);
    this.#scope = () => texts(scope);
  }

  /** Names of the resource's members, whose numbers are those that `othersOf` is asked with. */
  get resourceNames(): NameTable {
    return this.#mergeable().names;
  }

  /**
   * The members for a record in which names meet. The record has the names of the resource's
   * members at `met`, so these get other names. None are called as one of `fields`. Records mostly
   * meet the same names; `count` is told how many members are put together when they do not.
   */
  othersOf(
    met: readonly number[],
    { fields, count }: { fields: readonly FieldName[]; count: (members: number) => void },
  ): OtherMembers {
    const { resource, scope, fields: ofResource } = this.#mergeable();
    const key = [...met, ...fields.filter((name) => ofResource.includes(name))].join();
    const known = this.#others.get(key);
    if (known !== undefined) return known;
    if (this.#others.size > 0) count(resource.length + scope.length);
    const members = new Map<string, Uint8Array>();
    let at = 0;
    resource.forEach(({ name, json }, place) => {
      const isMet = met[at] === place;
      if (isMet) at += 1;
      putLast(members, isMet ? `resource.${name}` : name, json);
    });
    for (const { name, json } of scope) putLast(members, name, json);
    for (const name of fields) members.delete(name);
    const others = otherMembers(members);
    if (this.#others.size >= OTHERS_MAX) this.#others.clear();
    this.#others.set(key, others);
    return others;
  }

  #mergeable(): MergeableMembers {
    return this.#members ??= mergeable(this.#resource(), this.#scope());
  }
}

interface MergeableMembers {
  readonly resource: readonly NamedValue[];
  /** Names of the resource's members. */
  readonly names: NameTable;
  /** Called as a record's fields are; those of the scope begin with `scope.`. */
  readonly fields: readonly string[];
  readonly scope: readonly NamedValue[];
}

function mergeable(
  resource: readonly NamedValue[],
  scope: readonly NamedValue[],
): MergeableMembers {
  const members = new Map(resource.map(({ name, json }) => [name, json]));
  const fields = FIELD_NAMES.filter((name) => members.has(name));
  return { resource, names: otherMembers(members).names, fields, scope };
}

/** Kept of a context. */
const OTHERS_MAX = 16;

/** Sets a member where the newest one stands: a repeated name keeps its last value. */
function putLast<T>(members: Map<string, T>, name: string, value: T): void {
  members.delete(name);
  members.set(name, value);
}

const ALWAYS_RESERVED = [...FIELD_NAMES, SOURCETYPE, INDEX].map(utf8);
