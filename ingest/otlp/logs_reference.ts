/**
 * The mapping of log records to rows once more, for tests: protobufjs objects → row objects, in the plainest way, from
 * SPEC.md 2.1 and SHAPES.md. Shares no code with the decoders but the .proto.
 */

import { ExportLogsServiceRequest } from "../../proto/otlp_logs.ts";
import type { RowObject } from "../../shared/columns/rows.ts";

type Message = Record<string, unknown> & { $unknowns?: Uint8Array[] };

/** Throws an `Error` when the request must be refused. */
export function referenceRows(body: Uint8Array, nowNs: bigint): RowObject[] {
  const request = ExportLogsServiceRequest.decode(body) as unknown as Message;
  refuseGroups(request);
  const rows: RowObject[] = [];
  for (const resourceLogs of list(request.resourceLogs)) {
    const resource = lastByName(list((resourceLogs.resource as Message)?.attributes));
    for (const scopeLogs of list(resourceLogs.scopeLogs)) {
      const scope = (scopeLogs.scope ?? {}) as Message;
      // Values that no record uses must be well formed as well.
      for (const attribute of list(scope.attributes)) json(attribute.value, 0);
      for (const record of list(scopeLogs.logRecords)) {
        rows.push(rowOf({ record, resource, scope }, nowNs));
      }
    }
  }
  return rows;
}

interface Source {
  readonly record: Message;
  readonly resource: Map<string, Message | undefined>;
  readonly scope: Message;
}

function rowOf({ record, resource, scope }: Source, nowNs: bigint): RowObject {
  const own = lastByName(list(record.attributes));
  const ownNames = new Set(own.keys());
  const left = new Map(resource);
  const scopeName = String(scope.name ?? "");
  const host = fill(left, "host.name") ?? "unknown";
  const source = fill(left, "service.name") ?? (scopeName === "" ? "otel" : scopeName);
  const sourcetype = fill(own, "sourcetype") ?? "otel:logs";
  const index = fill(own, "index") ?? "main";
  const time = nanos(record.timeUnixNano);
  const observed = nanos(record.observedTimeUnixNano);
  const ns = time || observed || nowNs;
  const body = record.body as Message | undefined;
  const members = new Map<string, string>();
  const put = (name: string, text: string) => {
    members.delete(name);
    members.set(name, text);
  };
  for (const [name, value] of own) put(name, json(value, 0));
  for (const [name, value] of left) {
    put(ownNames.has(name) ? `resource.${name}` : name, json(value, 0));
  }
  if (scopeName !== "") put("scope.name", JSON.stringify(scopeName));
  if (scope.version) put("scope.version", JSON.stringify(scope.version));
  for (const attribute of list(scope.attributes)) {
    put(`scope.${attribute.key ?? ""}`, json(attribute.value as Message, 0));
  }
  putFields(put, record, observed);
  return {
    timestamp: ns / 1000n,
    timestamp_ns: ns,
    host,
    source,
    sourcetype,
    index,
    raw: textOf(body) ?? "",
    attributes: members.size === 0
      ? null
      : `{${[...members].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`,
  };
}

function putFields(
  put: (name: string, text: string) => void,
  record: Message,
  observed: bigint,
): void {
  if (record.severityText) put("severity_text", JSON.stringify(record.severityText));
  if (record.severityNumber) put("severity_number", String(record.severityNumber));
  if (bytes(record.traceId)) {
    put("trace_id", JSON.stringify(bytes(record.traceId)?.toString("hex")));
  }
  if (bytes(record.spanId)) put("span_id", JSON.stringify(bytes(record.spanId)?.toString("hex")));
  if (record.flags) put("flags", String(record.flags));
  if (record.eventName) put("event_name", JSON.stringify(record.eventName));
  if (observed) put("observed_timestamp_ns", JSON.stringify(String(observed)));
  if (record.droppedAttributesCount) {
    put("dropped_attributes_count", String(record.droppedAttributesCount));
  }
}

function list(value: unknown): Message[] {
  return (value ?? []) as Message[];
}

function bytes(value: unknown): Buffer | undefined {
  const array = value as Uint8Array | undefined;
  return array === undefined || array.length === 0 ? undefined : Buffer.from(array);
}

function lastByName(attributes: Message[]): Map<string, Message | undefined> {
  const map = new Map<string, Message | undefined>();
  for (const { key, value } of attributes) {
    json(value, 0);
    const name = String(key ?? "");
    map.delete(name);
    map.set(name, value as Message | undefined);
  }
  return map;
}

/** The text that fills a core column; the attribute is taken out when it does. */
function fill(attributes: Map<string, Message | undefined>, name: string): string | undefined {
  const text = textOf(attributes.get(name)) || undefined;
  if (text !== undefined) attributes.delete(name);
  return text;
}

function textOf(any: unknown): string | undefined {
  const value = (any ?? {}) as Message;
  if (kind(value) === undefined) return undefined;
  return kind(value) === "stringValue" ? String(value.stringValue) : json(value, 0);
}

function kind(value: Message): string | undefined {
  return [
    "stringValue",
    "boolValue",
    "intValue",
    "doubleValue",
    "arrayValue",
    "kvlistValue",
    "bytesValue",
  ].find((member) => Object.hasOwn(value, member));
}

function json(any: unknown, depth: number): string {
  const value = (any ?? {}) as Message;
  switch (kind(value)) {
    case "stringValue":
      return JSON.stringify(value.stringValue);
    case "boolValue":
    case "intValue":
      return String(value[kind(value) as string]);
    case "doubleValue": {
      const double = value.doubleValue as number;
      return Number.isFinite(double) ? JSON.stringify(double) : `"${double}"`;
    }
    case "bytesValue":
      return JSON.stringify(Buffer.from(value.bytesValue as Uint8Array).toString("base64"));
    case "arrayValue":
      refuseDeep(depth);
      return `[${
        list((value.arrayValue as Message).values).map((item) => json(item, depth + 1)).join(",")
      }]`;
    case "kvlistValue": {
      refuseDeep(depth);
      const members = new Map<string, string>();
      for (const { key, value: member } of list((value.kvlistValue as Message).values)) {
        const name = String(key ?? "");
        members.delete(name);
        members.set(name, json(member, depth + 1));
      }
      return `{${[...members].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
    }
    default:
      return "null";
  }
}

function refuseDeep(depth: number): void {
  if (depth >= 32) throw new Error("a value nests deeper than 32");
}

function nanos(value: unknown): bigint {
  const ns = value === undefined ? 0n : BigInt(String(value));
  if (ns > 9_223_372_036_854_775_807n) throw new Error(`time ${ns} is past 2262`);
  return ns;
}

/** OTLP has no groups; protobufjs keeps unknown ones, tag first. */
function refuseGroups(value: unknown): void {
  if (value instanceof Uint8Array || typeof value !== "object" || value === null) return;
  for (const raw of (value as Message).$unknowns ?? []) {
    if (((raw[0] ?? 0) & 7) === 3) throw new Error("a group");
  }
  for (const member of Object.values(value)) refuseGroups(member);
}
