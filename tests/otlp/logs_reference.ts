/**
 * The mapping of log records to rows once more, for tests: protobufjs objects → row objects, in the
 * plainest way, from docs/api/tables.md#events. Shares no code with the decoders but the .proto.
 */

import { ExportLogsServiceRequest } from "../../proto/otlp_logs.ts";
import type { RowObject } from "../../shared/columns/rows.ts";
import {
  bytes,
  decodeMessage,
  fill,
  json,
  lastByName,
  list,
  type Message,
  nanos,
  objectText,
  textOf,
} from "./values_reference.ts";

/** Throws an `Error` when the request must be refused. */
export function referenceRows(body: Uint8Array, nowNs: bigint): RowObject[] {
  const request = decodeMessage(ExportLogsServiceRequest, body);
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
    attributes: members.size === 0 ? null : objectText(members),
  };
}

function putFields(
  put: (name: string, text: string) => void,
  record: Message,
  observed: bigint,
): void {
  if (record.severityText) put("severity_text", JSON.stringify(record.severityText));
  if (record.severityNumber) put("severity_number", String(record.severityNumber));
  const traceId = idOf(record.traceId);
  if (traceId !== "") put("trace_id", JSON.stringify(traceId));
  const spanId = idOf(record.spanId);
  if (spanId !== "") put("span_id", JSON.stringify(spanId));
  if (record.flags) put("flags", String(record.flags));
  if (record.eventName) put("event_name", JSON.stringify(record.eventName));
  if (observed) put("observed_timestamp_ns", JSON.stringify(String(observed)));
  if (record.droppedAttributesCount) {
    put("dropped_attributes_count", String(record.droppedAttributesCount));
  }
}

/** In hexadecimal; empty for none, and for one of zeros. */
function idOf(value: unknown): string {
  const hex = bytes(value)?.toString("hex") ?? "";
  return /^0*$/.test(hex) ? "" : hex;
}
