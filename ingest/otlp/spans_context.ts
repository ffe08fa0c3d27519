/** What all spans of one scope share, prepared once. */

import { utf8 } from "../../shared/base/bytes.ts";
import { type Member, memberOf } from "./merged_attributes.ts";
import { type NameTable, nameTableOf } from "./name_table.ts";
import {
  type Attribute,
  membersOf,
  type NamedValue,
  putLast,
  type ScopeFields,
  scopeMembers,
  take,
} from "./scope_context.ts";

/** Members of `attributes` that come from a span's own fields, in their order. */
export const SPAN_FIELD_NAMES = [
  "flags",
  "dropped_attributes_count",
  "dropped_events_count",
  "dropped_links_count",
] as const;

const SERVICE_NAME = "service.name";
const SERVICE_FALLBACK = utf8("unknown");
const FIELD_NAMES = SPAN_FIELD_NAMES.map(utf8);

export class SpansContext {
  readonly service: Uint8Array;
  /** Null when empty. */
  readonly scopeName: Uint8Array | null;
  readonly scopeVersion: Uint8Array | null;
  /** Attributes of the resource but the one that filled `service`, as a JSON object; null when there are none. */
  readonly resource: Uint8Array | null;
  /** Attributes of the scope as `scope.<name>`, as JSON text without braces. */
  readonly members: DataView;
  readonly #scope: ReadonlyMap<string, NamedValue>;
  #mergeable: ReadonlyMap<string, Member> | undefined;
  /** The names that a span's attributes may meet. */
  readonly names: NameTable;

  constructor({ resource, scopeName, scopeVersion, scope }: ScopeFields) {
    const attributes = new Map<string, Attribute>();
    for (const attribute of resource) putLast(attributes, attribute.name, attribute);
    this.service = take(attributes, SERVICE_NAME) ?? SERVICE_FALLBACK;
    this.resource = objectOf(attributes);
    this.scopeName = scopeName?.text ?? null;
    this.scopeVersion = scopeVersion?.text ?? null;
    this.#scope = scopeMembers(scope);
    const members = [...this.#scope.values()];
    this.members = new DataView(membersOf(members).buffer);
    this.names = nameTableOf([...members.map(({ key }) => key), ...FIELD_NAMES]);
  }

  /** The attributes of the scope by name, for spans in which names meet. */
  get mergeable(): ReadonlyMap<string, Member> {
    this.#mergeable ??= new Map(
      Array.from(this.#scope, ([name, { json }]) => [name, memberOf(name, json)]),
    );
    return this.#mergeable;
  }
}

function objectOf(attributes: ReadonlyMap<string, Attribute>): Uint8Array | null {
  if (attributes.size === 0) return null;
  const members = membersOf(attributes.values());
  const object = new Uint8Array(members.length + 2);
  object[0] = 0x7b;
  object.set(members, 1);
  object[members.length + 1] = 0x7d;
  return object;
}
