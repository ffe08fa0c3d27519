/** What all spans of one scope share, prepared once. */

import { utf8 } from "../../../shared/base/bytes.ts";
import type { CopySource } from "../../../shared/columns/byte_builder.ts";
import type { ContextMembers, NamedValue } from "../attributes/context_members.ts";
import { nameKeyOf, type OtherMembers, otherMembers } from "../attributes/merged_attributes.ts";
import type { NameTable } from "../attributes/name_table.ts";

/** Members of `attributes` that come from a span's own fields, in their order. */
export const SPAN_FIELD_NAMES = [
  "flags",
  "dropped_attributes_count",
  "dropped_events_count",
  "dropped_links_count",
] as const;

const SERVICE_NAME = nameKeyOf("service.name");
const SERVICE_FALLBACK = utf8("unknown");
const FIELD_NAMES = SPAN_FIELD_NAMES.map(utf8);

export class SpansContext {
  readonly service: Uint8Array;
  /** Null when empty. */
  readonly scopeName: Uint8Array | null;
  readonly scopeVersion: Uint8Array | null;
  /**
   * Attributes of the resource but the one that filled `service`, as a JSON object; null when there
   * are none.
   */
  readonly resource: Uint8Array | null;
  /** Attributes of the scope as `scope.<name>`, as JSON text without braces. */
  readonly members: CopySource;
  readonly #scope: () => NamedValue[];
  #others: OtherMembers | undefined;
  /** The names that a span's attributes may meet. */
  readonly names: () => NameTable;

  constructor(of: ContextMembers) {
    this.service = of.take(SERVICE_NAME) ?? SERVICE_FALLBACK;
    const resource = of.resource();
    this.resource = resource.length === 0 ? null : objectOf(of.text(resource));
    this.scopeName = of.scopeName;
    this.scopeVersion = of.scopeVersion;
    const scope = of.scope({ names: false });
    const { text, names, texts } = of.keep(scope, FIELD_NAMES);
    this.members = text;
    this.names = names;
    this.#scope = () => texts(scope);
  }

  /**
   * The attributes of the scope, for spans in which names meet. None is called as a field is: each
   * begins with `scope.`.
   */
  get others(): OtherMembers {
    return this.#others ??= otherMembers(
      new Map(this.#scope().map(({ name, json }) => [name, json])),
    );
  }
}

function objectOf({ view, length }: CopySource): Uint8Array {
  const object = new Uint8Array(length + 2);
  object[0] = 0x7b;
  object.set(new Uint8Array(view.buffer, view.byteOffset, length), 1);
  object[length + 1] = 0x7d;
  return object;
}
