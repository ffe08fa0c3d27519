/** What all spans of one scope share, prepared once. */

import { utf8 } from "../../shared/base/bytes.ts";
import {
  type Attribute,
  membersOf,
  putLast,
  type ScopeFields,
  slotOfName,
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
const FIELD_SLOTS = SPAN_FIELD_NAMES.map(slotOfName);

export class SpansContext {
  readonly service: Uint8Array;
  /** Null when empty. */
  readonly scopeName: Uint8Array | null;
  readonly scopeVersion: Uint8Array | null;
  /** Attributes of the resource but the one that filled `service`, as a JSON object; null when there are none. */
  readonly resource: Uint8Array | null;
  /** Attributes of the scope as `scope.<name>`. */
  readonly scope: ReadonlyMap<string, Uint8Array>;
  /** The same as JSON text without braces. */
  readonly members: DataView;
  /** Slots in `NameFilter` of the names that a span's attributes may meet. */
  readonly slots: readonly number[];

  constructor({ resource, scopeName, scopeVersion, scope }: ScopeFields) {
    const attributes = new Map<string, Attribute>();
    for (const attribute of resource) putLast(attributes, attribute.name, attribute);
    this.service = take(attributes, SERVICE_NAME) ?? SERVICE_FALLBACK;
    this.resource = objectOf(attributes);
    this.scopeName = scopeName?.text ?? null;
    this.scopeVersion = scopeVersion?.text ?? null;
    const members = new Map<string, Uint8Array>();
    for (const { name, json } of scope) putLast(members, `scope.${name}`, json);
    this.scope = members;
    this.members = new DataView(membersOf(members).buffer);
    this.slots = [...[...members.keys()].map(slotOfName), ...FIELD_SLOTS];
  }
}

function objectOf(attributes: ReadonlyMap<string, Attribute>): Uint8Array | null {
  if (attributes.size === 0) return null;
  const members = membersOf(new Map([...attributes].map(([name, { json }]) => [name, json])));
  const object = new Uint8Array(members.length + 2);
  object[0] = 0x7b;
  object.set(members, 1);
  object[members.length + 1] = 0x7d;
  return object;
}
