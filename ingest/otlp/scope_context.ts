/**
 * What all records of one scope share, prepared once: core columns, and the resource's and scope's part of
 * `attributes` as JSON text.
 *
 * A record takes the fast path when none of its attribute names meets another name of the row: one of the context, of the
 * record's own fields, or of its other attributes.
 */

import { concatBytes, utf8 } from "../../shared/base/bytes.ts";
import { ByteBuilder, type CopySource, copySourceOf } from "../../shared/columns/byte_builder.ts";
import { writeJsonString } from "../../shared/columns/json_writer.ts";
import { type Member, memberOf } from "./merged_attributes.ts";
import { type NameTable, nameTableOf } from "./name_table.ts";

/** An attribute apart from its record. */
export interface Attribute {
  readonly name: string;
  /** The name's UTF-8. */
  readonly key: Uint8Array;
  /** The value's JSON text. */
  readonly json: Uint8Array;
  /** What the value puts into a core column; null where it fills none: no value, an empty text, another name. */
  readonly text: Uint8Array | null;
}

/** Record attributes that fill core columns. */
export const SOURCETYPE = "sourcetype";
export const INDEX = "index";
/** Resource attributes that do. */
const HOST_NAME = "host.name";
const SERVICE_NAME = "service.name";
/** Attributes that fill a core column, wherever they are. */
export const CORE_NAMES: ReadonlySet<string> = new Set([
  SOURCETYPE,
  INDEX,
  HOST_NAME,
  SERVICE_NAME,
]);

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

/** A name's UTF-8 and the JSON text of its value. */
export type NamedValue = Pick<Attribute, "key" | "json">;

export interface ScopeFields {
  readonly resource: readonly Attribute[];
  readonly scopeName: Attribute | undefined;
  readonly scopeVersion: Attribute | undefined;
  readonly scope: readonly Attribute[];
}

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
  /** Resource attributes that filled no core column, repeated names removed. */
  readonly #resource: ReadonlyMap<string, NamedValue>;
  /** Members from the scope under their final names. */
  readonly #scope: ReadonlyMap<string, NamedValue>;
  #mergeable: MergeableMembers | undefined;

  constructor({ resource, scopeName, scopeVersion, scope }: ScopeFields) {
    const attributes = new Map<string, Attribute>();
    for (const attribute of resource) putLast(attributes, attribute.name, attribute);
    const host = take(attributes, HOST_NAME);
    const source = take(attributes, SERVICE_NAME);
    this.host = host ?? HOST_FALLBACK;
    this.source = source ?? scopeName?.text ?? SOURCE_FALLBACK;
    this.#resource = attributes;
    this.#scope = scopeMembers([scopeName, scopeVersion, ...scope]);
    const merged = new Map<string, NamedValue>(attributes);
    for (const [name, member] of this.#scope) putLast(merged, name, member);
    this.members = copySourceOf(membersOf(merged.values()));
    this.meetsFields = FIELD_NAMES.some((name) => merged.has(name));
    this.names = nameTableOf([
      ...Array.from(merged.values(), ({ key }) => key),
      ...ALWAYS_RESERVED,
    ]);
  }

  /** Whether the resource has a member of that name. */
  has(name: string): boolean {
    return this.#resource.has(name);
  }

  /** The members, for records in which names meet. */
  get mergeable(): MergeableMembers {
    this.#mergeable ??= {
      resource: Array.from(this.#resource, ([name, { json }]) => {
        const other = `resource.${name}`;
        return {
          own: { name, member: memberOf(name, json) },
          renamed: { name: other, member: memberOf(other, json) },
        };
      }),
      scope: Array.from(
        this.#scope,
        ([name, { json }]) => ({ name, member: memberOf(name, json) }),
      ),
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

/** The text of an attribute that fills a core column, taken out; undefined when it fills none. */
export function take(attributes: Map<string, Attribute>, name: string): Uint8Array | undefined {
  const text = attributes.get(name)?.text ?? undefined;
  if (text !== undefined) attributes.delete(name);
  return text;
}

/** Attributes of a scope, as they are named in a row. */
export function scopeMembers(
  attributes: readonly (Attribute | undefined)[],
): ReadonlyMap<string, NamedValue> {
  const members = new Map<string, NamedValue>();
  for (const attribute of attributes) {
    if (attribute === undefined) continue;
    const { name, key, json } = attribute;
    putLast(members, `scope.${name}`, { key: concatBytes([SCOPE_PREFIX, key]), json });
  }
  return members;
}

/** `"name":value,…` */
export function membersOf(members: Iterable<NamedValue>): Uint8Array<ArrayBuffer> {
  const out = new ByteBuilder(256);
  for (const { key, json } of members) {
    if (out.length > 0) out.byte(COMMA);
    const view = new DataView(key.buffer, key.byteOffset, key.byteLength);
    writeJsonString(out, view, 0, key.byteLength);
    out.byte(COLON);
    out.append(json);
  }
  return out.take();
}

const SCOPE_PREFIX = utf8("scope.");
const COMMA = 0x2c;
const COLON = 0x3a;
const ALWAYS_RESERVED = [...FIELD_NAMES, SOURCETYPE, INDEX].map(utf8);
