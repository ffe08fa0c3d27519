/**
 * What the OTLP messages of logs and traces share, for protobufjs: values, resources and scopes.
 * Only fields that are stored or answered are named; others pass as unknown fields. Field numbers:
 * https://github.com/open-telemetry/opentelemetry-proto (v1, common and resource).
 */

import protobuf from "protobufjs";

/**
 * An attribute value or body nests 32 deep, at three messages a level, below a log record or a
 * span's event.
 */
const NESTING_MAX = 128;
protobuf.util.recursionLimit = NESTING_MAX;
protobuf.Reader.recursionLimit = NESTING_MAX;

export type FieldTable = Record<string, { id: number; type: string; rule?: "repeated" }>;

/** A message type of a descriptor. */
export function message(fields: FieldTable, oneof?: Record<string, { oneof: string[] }>) {
  return oneof === undefined ? { fields } : { fields, oneofs: oneof };
}

const ANY_VALUE_FIELDS: FieldTable = {
  stringValue: { id: 1, type: "string" },
  boolValue: { id: 2, type: "bool" },
  intValue: { id: 3, type: "int64" },
  doubleValue: { id: 4, type: "double" },
  arrayValue: { id: 5, type: "ArrayValue" },
  kvlistValue: { id: 6, type: "KeyValueList" },
  bytesValue: { id: 7, type: "bytes" },
};

const COMMON = {
  AnyValue: message(ANY_VALUE_FIELDS, { value: { oneof: Object.keys(ANY_VALUE_FIELDS) } }),
  ArrayValue: message({ values: { id: 1, type: "AnyValue", rule: "repeated" } }),
  KeyValueList: message({ values: { id: 1, type: "KeyValue", rule: "repeated" } }),
  KeyValue: message({ key: { id: 1, type: "string" }, value: { id: 2, type: "AnyValue" } }),
  Resource: message({ attributes: { id: 1, type: "KeyValue", rule: "repeated" } }),
  InstrumentationScope: message({
    name: { id: 1, type: "string" },
    version: { id: 2, type: "string" },
    attributes: { id: 3, type: "KeyValue", rule: "repeated" },
  }),
};

/** A namespace of `types` and the messages shared by all signals. */
export function protoNamespace(types: Record<string, protobuf.IType>): protobuf.Root {
  // protobufjs reads `edition`, its types do not name it; without it strings pass unchecked.
  const descriptor: protobuf.INamespace & { readonly edition: string } = {
    edition: "proto3",
    nested: { ...COMMON, ...types },
  };
  return protobuf.Root.fromJSON(descriptor);
}

/** A value of an attribute or body, as OTLP/JSON writes it; at most one member. */
export interface AnyValue {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  /** A decimal string beyond 2^53. */
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values?: readonly AnyValue[] };
  readonly kvlistValue?: { readonly values?: readonly KeyValue[] };
  readonly bytesValue?: Uint8Array;
}

export interface KeyValue {
  readonly key: string;
  readonly value?: AnyValue;
}

export interface Resource {
  readonly attributes?: readonly KeyValue[];
}

export interface Scope {
  readonly name?: string;
  readonly version?: string;
  readonly attributes?: readonly KeyValue[];
}
