/**
 * The attributes of a resource and of its scope while a context is made of them, from bytes to
 * bytes. Names and values as JSON lie one after the other in one buffer. Where a list has a name
 * twice the last value stands, at the first one's place.
 *
 * Kept between contexts: there is one user at a time, and what is kept of a context are copies.
 */

import { isUtf8 } from "node:buffer";
import { textOf, utf8, viewOf } from "../../../shared/base/bytes.ts";
import { ByteBuilder, COPY_ROOM, type CopySource } from "../../../shared/columns/byte_builder.ts";
import { writeJsonString } from "../../../shared/columns/json_writer.ts";
import { areSameBytesAt } from "../../../shared/columns/value_bytes.ts";
import { NameTable } from "./name_table.ts";
import { OBJECT_NAMES_MAX, tooManyNames } from "../request_limits.ts";
import { IRREGULAR, type ValueReader } from "../wire/value_reader.ts";
import type { WireReader } from "../wire/wire_reader.ts";

/** Bytes of a request. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** A name, and the JSON text of its value. */
export interface NamedValue {
  readonly name: string;
  readonly json: Uint8Array;
}

/** Tags: field number × 8 + wire type. */
const RESOURCE = { attributes: 0x0a } as const;
const SCOPE = { name: 0x0a, version: 0x12, attributes: 0x1a } as const;
const SCOPE_PREFIX = utf8("scope.");
const NAME = utf8("name");
const VERSION = utf8("version");
const COMMA = 0x2c;
const COLON = 0x3a;

/** Whose a member is: the resource's, an attribute of the scope, or its name or version. */
type MemberKind = "resource" | "scopeAttribute" | "scope";

interface Entry {
  readonly kind: MemberKind;
  /** Where its name begins in the buffer, its value begins and ends. */
  readonly nameAt: number;
  readonly valueAt: number;
  readonly end: number;
  /** The value in the request; `wireStart` -1 without one. */
  readonly wireStart: number;
  readonly wireEnd: number;
  /** Whether it stands in its own list, and where both lists are one. */
  stands: boolean;
  standsMerged: boolean;
}

/** What stays of entries when `ContextMembers` is used for others. */
export interface KeptMembers {
  /** `"name":value,…` */
  readonly text: CopySource;
  /** A table of the names of the entries and of those reserved, made when it is asked for first. */
  readonly names: () => NameTable;
  /** Any entries as texts, made when they are asked for. */
  readonly texts: (entries: readonly Entry[]) => NamedValue[];
}

export class ContextMembers {
  /** Texts; null where there is none, or an empty one. */
  scopeName: Uint8Array | null = null;
  scopeVersion: Uint8Array | null = null;
  readonly #reader: WireReader;
  readonly #values: ValueReader;
  readonly #names = new NameTable({ namesMax: Infinity });
  readonly #bytes = new ByteBuilder(4096);
  readonly #text = new ByteBuilder(256);
  #entries: Entry[] = [];
  #counts = { resource: 0, scopeAttribute: 0, scope: 0 };

  constructor(reader: WireReader, values: ValueReader) {
    this.#reader = reader;
    this.#values = values;
  }

  /**
   * Errors: `invalid_argument`, `too_large` past `OBJECT_NAMES_MAX` and `REQUEST_ATTRIBUTES_MAX`.
   */
  read(resource: ByteSpan, scope: ByteSpan): void {
    this.#bytes.clear();
    this.#entries = [];
    this.#counts = { resource: 0, scopeAttribute: 0, scope: 0 };
    this.#readResource(resource);
    this.#readScope(scope);
    const { bytes, length } = this.#bytes;
    if (!isUtf8(bytes.subarray(0, length))) {
      throw this.#reader.refusal(
        "an attribute of a resource or a scope, its name or version is not UTF-8",
      );
    }
    this.#findRepeated();
  }

  /**
   * The text of the resource's attribute of that name, which is then removed; undefined where there
   * is none.
   */
  take(key: DataView): Uint8Array | undefined {
    const entry = this.#entries.findLast((one) =>
      one.kind === "resource" && one.stands && this.#hasName(one, key)
    );
    if (entry === undefined) return undefined;
    const text = this.#text;
    text.clear();
    this.#values.text(text, entry.wireStart, entry.wireEnd);
    if (text.length === 0) return undefined;
    entry.stands = entry.standsMerged = false;
    return text.take();
  }

  /** The resource's attributes that stand. */
  resource(): Entry[] {
    return this.#entries.filter(({ kind, stands }) => kind === "resource" && stands);
  }

  /**
   * The scope's attributes that stand, as `scope.<name>`; with `names` also its name and version.
   */
  scope({ names }: { readonly names: boolean }): Entry[] {
    return this.#entries.filter(({ kind, stands }) =>
      stands && (kind === "scopeAttribute" || (names && kind === "scope"))
    );
  }

  /** The members of both, the scope's in place of the resource's where they have one name. */
  merged(): Entry[] {
    return this.#entries.filter(({ standsMerged }) => standsMerged);
  }

  has(entries: readonly Entry[], key: DataView): boolean {
    return entries.some((entry) => this.#hasName(entry, key));
  }

  /** `"name":value,…` */
  text(entries: readonly Entry[]): CopySource {
    this.#text.clear();
    this.#writeText(this.#text, entries);
    return this.#text.takeSource();
  }

  /** In one piece of memory: making a context is mostly asking for such. */
  keep(entries: readonly Entry[], reserved: readonly Uint8Array[]): KeptMembers {
    const out = this.#bytes;
    const { length } = out;
    const ends = reserved.map((name) => {
      out.append(name);
      return out.length;
    });
    const textAt = out.length;
    this.#writeText(out, entries);
    const textLength = out.length - textAt;
    out.reserve(COPY_ROOM);
    const bytes = out.bytes.slice(0, out.length + COPY_ROOM);
    out.length = length;
    const text = { view: viewOf(bytes.subarray(textAt)), length: textLength };
    const makeNames = () => {
      const table = new NameTable({ namesMax: Infinity });
      table.start(viewOf(bytes));
      for (const { nameAt, valueAt } of entries) table.put(nameAt, valueAt);
      let at = length;
      for (const end of ends) {
        table.put(at, end);
        at = end;
      }
      return table;
    };
    let made: NameTable | undefined;
    const names = () => made ??= makeNames();
    const texts = (of: readonly Entry[]) =>
      of.map(({ nameAt, valueAt, end }) => ({
        name: textOf(bytes.subarray(nameAt, valueAt)),
        json: bytes.subarray(valueAt, end),
      }));
    return { text, names, texts };
  }

  /** Appends `"name":value,…`, to the entries' own buffer as well. */
  #writeText(out: ByteBuilder, entries: readonly Entry[]): void {
    const { view } = this.#bytes;
    let isFirst = true;
    for (const { nameAt, valueAt, end } of entries) {
      if (!isFirst) out.byte(COMMA);
      isFirst = false;
      writeJsonString(out, view, nameAt, valueAt);
      out.byte(COLON);
      out.copy(view, valueAt, end);
    }
  }

  #readResource({ start, end }: ByteSpan): void {
    const reader = this.#reader;
    reader.pos = start;
    for (let attributeEnd; (attributeEnd = reader.next(RESOURCE.attributes, end)) >= 0;) {
      this.#attribute("resource", attributeEnd);
    }
  }

  #readScope({ start, end }: ByteSpan): void {
    const reader = this.#reader;
    let name: ByteSpan | undefined;
    let version: ByteSpan | undefined;
    reader.pos = start;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === SCOPE.name) {
        if (name !== undefined) throw IRREGULAR;
        name = this.#span(end);
      } else if (tag === SCOPE.version) {
        if (version !== undefined) throw IRREGULAR;
        version = this.#span(end);
      } else reader.skip(tag, end);
    }
    this.scopeName = this.#scopeText(NAME, name);
    this.scopeVersion = this.#scopeText(VERSION, version);
    reader.pos = start;
    for (let attributeEnd; (attributeEnd = reader.next(SCOPE.attributes, end)) >= 0;) {
      this.#attribute("scopeAttribute", attributeEnd);
    }
  }

  /** Passes over a length-delimited field. */
  #span(end: number): ByteSpan {
    const reader = this.#reader;
    const spanEnd = reader.span(end);
    const span = { start: reader.pos, end: spanEnd };
    reader.pos = spanEnd;
    return span;
  }

  /** Makes the scope's name or version a member, unless it is empty. */
  #scopeText(name: Uint8Array, span: ByteSpan | undefined): Uint8Array | null {
    if (span === undefined || span.start === span.end) return null;
    const { start, end } = span;
    const out = this.#bytes;
    const nameAt = out.length;
    out.append(SCOPE_PREFIX);
    out.append(name);
    const valueAt = out.length;
    writeJsonString(out, this.#reader.view, start, end);
    this.#add({ kind: "scope", nameAt, valueAt, wireStart: start, wireEnd: end });
    return this.#reader.bytes.slice(start, end);
  }

  /** Reads the attribute from the cursor to `end`. */
  #attribute(kind: MemberKind, end: number): void {
    const values = this.#values;
    const out = this.#bytes;
    values.count();
    values.keyValue(end);
    const { keyStart, keyEnd, valueStart: wireStart, valueEnd: wireEnd } = values;
    const nameAt = out.length;
    if (kind === "scopeAttribute") out.append(SCOPE_PREFIX);
    out.copy(this.#reader.view, keyStart, keyEnd);
    const valueAt = out.length;
    values.json(out, wireStart, wireEnd);
    this.#add({ kind, nameAt, valueAt, wireStart, wireEnd });
    this.#reader.pos = end;
  }

  #add(entry: Pick<Entry, "kind" | "nameAt" | "valueAt" | "wireStart" | "wireEnd">): void {
    this.#counts[entry.kind] += 1;
    if (this.#counts[entry.kind] > OBJECT_NAMES_MAX) throw tooManyNames();
    const { length } = this.#bytes;
    const { kind, nameAt, valueAt, wireStart, wireEnd } = entry;
    const end = length;
    const stands = true;
    const standsMerged = true;
    this.#entries.push({ kind, nameAt, valueAt, end, wireStart, wireEnd, stands, standsMerged });
  }

  #findRepeated(): void {
    const names = this.#names;
    names.start(this.#bytes.view);
    for (const { kind, nameAt, valueAt } of this.#entries) {
      const before = this.#entries[names.put(nameAt, valueAt)];
      if (before === undefined) continue;
      before.standsMerged = false;
      if ((before.kind === "resource") === (kind === "resource")) before.stands = false;
    }
  }

  #hasName({ nameAt, valueAt }: Entry, key: DataView): boolean {
    const { byteLength } = key;
    return valueAt - nameAt === byteLength &&
      areSameBytesAt(this.#bytes.view, nameAt, key, 0, byteLength);
  }
}
