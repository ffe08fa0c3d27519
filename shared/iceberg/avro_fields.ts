/**
 * Reads records of a manifest or manifest list by Iceberg field id: names are the writer's choice.
 */

import { OperatingError } from "../base/errors.ts";
import type { AvroRecord, AvroSchema } from "./avro_container.ts";

export class FieldNames {
  /** Ids are unique within a manifest's or a list's schema, nested records included. */
  readonly #names = new Map<number, string>();

  constructor(schema: AvroSchema) {
    this.#collect(schema);
  }

  /** What the writer calls a field; undefined where the schema has none of that id. */
  nameOf(id: number): string | undefined {
    return this.#names.get(id);
  }

  number(record: AvroRecord, id: number): number | undefined {
    return this.#value(record, id) as number | undefined;
  }

  long(record: AvroRecord, id: number): bigint | undefined {
    const value = this.#value(record, id);
    return typeof value === "number" ? BigInt(value) : value as bigint | undefined;
  }

  text(record: AvroRecord, id: number): string | undefined {
    return this.#value(record, id) as string | undefined;
  }

  bytes(record: AvroRecord, id: number): Uint8Array | undefined {
    const value = this.#value(record, id) as Uint8Array | undefined;
    // A copy: Avro's bytes are a window on the whole decompressed block.
    return value === undefined ? undefined : new Uint8Array(value);
  }

  boolean(record: AvroRecord, id: number): boolean | undefined {
    return this.#value(record, id) as boolean | undefined;
  }

  longs(record: AvroRecord, id: number): readonly bigint[] {
    return (this.#value(record, id) ?? []) as bigint[];
  }

  records(record: AvroRecord, id: number): readonly AvroRecord[] | undefined {
    return this.#value(record, id) as AvroRecord[] | undefined;
  }

  /** A record that must be there; `name` names the file for the message. */
  record(record: AvroRecord, id: number, name: string): AvroRecord {
    const value = this.#value(record, id);
    if (value !== undefined) return value as AvroRecord;
    throw new OperatingError("corrupt", `Cannot read ${name}: a record lacks field ${id}.`);
  }

  /** A map with int keys: an array of (key, value) records. */
  counts(record: AvroRecord, id: number): Map<number, number> {
    const map = new Map<number, number>();
    for (const { key, value } of this.records(record, id) ?? []) {
      if (value !== null && value !== undefined) map.set(key as number, Number(value));
    }
    return map;
  }

  /** A map with int keys whose values are windows on bytes that many share. */
  bounds(record: AvroRecord, id: number): Map<number, Uint8Array> {
    const map = new Map<number, Uint8Array>();
    for (const { key, value } of this.records(record, id) ?? []) {
      if (!(value instanceof Uint8Array)) continue;
      // Plain bytes: Avro's are of a class of their own, and equal to no others.
      const { buffer, byteOffset, byteLength } = value;
      map.set(key as number, new Uint8Array(buffer, byteOffset, byteLength));
    }
    return map;
  }

  #value(record: AvroRecord, id: number): unknown {
    const name = this.#names.get(id);
    return name === undefined ? undefined : record[name] ?? undefined;
  }

  #collect(schema: AvroSchema): void {
    if (typeof schema === "string") return;
    if (isUnion(schema)) return schema.forEach((branch) => this.#collect(branch));
    for (const field of (schema.fields ?? []) as Record<string, unknown>[]) {
      const id = field["field-id"];
      if (typeof id === "number") this.#names.set(id, String(field.name));
      this.#collect(field.type as AvroSchema);
    }
    if (schema.items !== undefined) this.#collect(schema.items as AvroSchema);
  }
}

function isUnion(schema: AvroSchema): schema is readonly AvroSchema[] {
  return Array.isArray(schema);
}
