/**
 * What all records of one scope share, prepared once: core columns, and the resource's and scope's part of
 * `attributes` as JSON text.
 *
 * A record takes the fast path when none of its attribute names can meet another name of the row. That is
 * decided by a small hash: names of the context and of the record's own fields are reserved, and a record's
 * names are stamped. A false alarm only costs time.
 */

import { utf8 } from "../../shared/base/bytes.ts";
import { type CopySource, copySourceOf } from "../../shared/columns/byte_builder.ts";

/** An attribute apart from its record. */
export interface Attribute {
  readonly name: string;
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

export interface ScopeFields {
  readonly resource: readonly Attribute[];
  readonly scopeName: Attribute | undefined;
  readonly scopeVersion: Attribute | undefined;
  readonly scope: readonly Attribute[];
}

const HOST_FALLBACK = utf8("unknown");
const SOURCE_FALLBACK = utf8("otel");
const FIELDS: ReadonlySet<string> = new Set(FIELD_NAMES);

export class ScopeContext {
  readonly host: Uint8Array;
  readonly source: Uint8Array;
  /** Resource attributes that filled no core column, repeated names removed. */
  readonly resource: ReadonlyMap<string, Uint8Array>;
  /** Members from the scope under their final names. */
  readonly scope: ReadonlyMap<string, Uint8Array>;
  /** The members of both as JSON text without braces; empty when there are none. */
  readonly members: CopySource;
  /** A name of the context equals one of a record's fields: no record may take the fast path. */
  readonly meetsFields: boolean;
  /** Slots in `NameFilter` of the names that a record's attributes may meet, or that fill core columns. */
  readonly slots: readonly number[];

  constructor({ resource, scopeName, scopeVersion, scope }: ScopeFields) {
    const attributes = new Map<string, Attribute>();
    for (const attribute of resource) putLast(attributes, attribute.name, attribute);
    const host = take(attributes, HOST_NAME);
    const source = take(attributes, SERVICE_NAME);
    this.host = host ?? HOST_FALLBACK;
    this.source = source ?? scopeName?.text ?? SOURCE_FALLBACK;
    this.resource = new Map([...attributes].map(([name, { json }]) => [name, json]));
    const members = new Map<string, Uint8Array>();
    for (const attribute of [scopeName, scopeVersion, ...scope]) {
      if (attribute !== undefined) putLast(members, `scope.${attribute.name}`, attribute.json);
    }
    this.scope = members;
    const merged = new Map(this.resource);
    for (const [name, json] of members) putLast(merged, name, json);
    this.members = copySourceOf(membersOf(merged));
    this.meetsFields = [...merged.keys()].some((name) => FIELDS.has(name));
    this.slots = [...[...merged.keys()].map(slotOfName), ...ALWAYS_RESERVED];
  }
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

/** `"name":value,…` */
export function membersOf(members: ReadonlyMap<string, Uint8Array>): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for (const [name, json] of members) {
    const head = utf8(`${parts.length === 0 ? "" : ","}${JSON.stringify(name)}:`);
    parts.push(head, json);
    length += head.length + json.length;
  }
  const text = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    text.set(part, at);
    at += part.length;
  }
  return text;
}

const SLOTS = 1024;

/**
 * Which names are reserved and which a record has used, by hash. One filter serves context after context and record
 * after record: slots hold the number of the context or record that took them, so that nothing is cleared.
 */
export class NameFilter {
  readonly #contexts = new Float64Array(SLOTS);
  readonly #records = new Float64Array(SLOTS);
  #context = 0;
  #record = 0;

  /** Reserves the names of a context, given by their slots; forgets all others. */
  enter(slots: readonly number[]): void {
    this.#context += 1;
    for (const slot of slots) this.#contexts[slot] = this.#context;
  }

  nextRecord(): void {
    this.#record += 1;
  }

  /** Notes the record's name with this slot; true when it may be reserved or may have occurred before. */
  meets(slot: number): boolean {
    if (this.#contexts[slot] === this.#context || this.#records[slot] === this.#record) return true;
    this.#records[slot] = this.#record;
    return false;
  }
}

/** A small hash of a name. */
export function slotOf(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length === 0) return 0;
  const first = bytes[start] as number;
  const middle = bytes[start + (length >> 1)] as number;
  const last = bytes[end - 1] as number;
  const hash = Math.imul(Math.imul(Math.imul(length, 131) + first, 131) + middle, 131) + last;
  return (hash ^ (hash >>> 10)) & (SLOTS - 1);
}

export function slotOfName(name: string): number {
  const bytes = utf8(name);
  return slotOf(bytes, 0, bytes.length);
}

const ALWAYS_RESERVED = [...FIELD_NAMES, SOURCETYPE, INDEX].map(slotOfName);
