/**
 * The spans of a trace, read from the OTLP that `/api/v3/traces/{id}` answers. Times are
 * nanoseconds since the trace's first span, as numbers: exact up to 104 days.
 */

/** An attribute with the text that is shown of its value. */
export interface SpanAttribute {
  readonly key: string;
  readonly text: string;
}

export interface SpanEvent {
  readonly ns: number;
  readonly name: string;
  readonly attributes: readonly SpanAttribute[];
}

export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: readonly SpanAttribute[];
}

export type SpanKind = typeof KINDS[number];

export interface TraceSpan {
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentId: string;
  readonly service: string;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startNs: number;
  readonly durationNs: number;
  readonly isError: boolean;
  readonly statusText: string;
  readonly attributes: readonly SpanAttribute[];
  readonly resource: readonly SpanAttribute[];
  readonly scope: string;
  readonly events: readonly SpanEvent[];
  readonly links: readonly SpanLink[];
}

export interface ReadTrace {
  /** Unix nanoseconds of the first span's start. */
  readonly startNs: bigint;
  /** The earliest first. */
  readonly spans: readonly TraceSpan[];
}

const KINDS = ["unspecified", "internal", "server", "client", "producer", "consumer"] as const;
const STATUS_ERROR = 2;

/** What the answer holds, with the members that are read here. */
interface OtlpTrace {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly OtlpAttribute[] };
    readonly scopeSpans?: readonly {
      readonly scope?: { readonly name?: string; readonly version?: string };
      readonly spans?: readonly OtlpSpan[];
    }[];
  }[];
}

interface OtlpSpan {
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind?: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly OtlpAttribute[];
  readonly events?: readonly {
    readonly timeUnixNano: string;
    readonly name: string;
    readonly attributes?: readonly OtlpAttribute[];
  }[];
  readonly links?: readonly {
    readonly traceId: string;
    readonly spanId: string;
    readonly attributes?: readonly OtlpAttribute[];
  }[];
  readonly status?: { readonly code?: number; readonly message?: string };
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** Reads a trace; a trace without spans has none. */
export function readTrace(answer: OtlpTrace): ReadTrace {
  const found = (answer.resourceSpans ?? []).flatMap(({ resource, scopeSpans = [] }) => {
    const attributes = attributesOf(resource?.attributes);
    const service = attributes.find(({ key }) => key === "service.name")?.text ?? "unknown";
    return scopeSpans.flatMap(({ scope, spans = [] }) => {
      const scopeText = [scope?.name, scope?.version].filter((one) => one !== undefined).join(" ");
      return spans.map((span) => ({ span, service, resource: attributes, scope: scopeText }));
    });
  });
  const starts = found.map(({ span }) => BigInt(span.startTimeUnixNano));
  const startNs = starts.reduce((a, b) => a < b ? a : b, starts[0] ?? 0n);
  const spans = found.map((one) => spanOf(one, startNs));
  return { startNs, spans: spans.sort((a, b) => a.startNs - b.startNs) };
}

function spanOf(
  { span, service, resource, scope }: {
    readonly span: OtlpSpan;
    readonly service: string;
    readonly resource: readonly SpanAttribute[];
    readonly scope: string;
  },
  traceStartNs: bigint,
): TraceSpan {
  const since = (ns: string) => Number(BigInt(ns) - traceStartNs);
  const startNs = since(span.startTimeUnixNano);
  return {
    spanId: span.spanId,
    parentId: span.parentSpanId ?? "",
    service,
    name: span.name,
    kind: KINDS[span.kind ?? 0] ?? "unspecified",
    startNs,
    durationNs: Math.max(0, since(span.endTimeUnixNano) - startNs),
    isError: span.status?.code === STATUS_ERROR,
    statusText: span.status?.message ?? "",
    attributes: attributesOf(span.attributes),
    resource,
    scope,
    events: (span.events ?? []).map(({ timeUnixNano, name, attributes }) => ({
      ns: since(timeUnixNano),
      name,
      attributes: attributesOf(attributes),
    })),
    links: (span.links ?? []).map(({ traceId, spanId, attributes }) => ({
      traceId,
      spanId,
      attributes: attributesOf(attributes),
    })),
  };
}

function attributesOf(attributes: readonly OtlpAttribute[] = []): readonly SpanAttribute[] {
  return attributes.map(({ key, value }) => ({ key, text: valueText(value) }));
}

/** A list or a map is shown as JSON. */
function valueText(value: Readonly<Record<string, unknown>>): string {
  const plain = plainValue(value);
  return typeof plain === "object" ? JSON.stringify(plain) : String(plain ?? "");
}

function plainValue(value: Readonly<Record<string, unknown>>): unknown {
  const list = value["arrayValue"] as { readonly values?: readonly OtlpAttribute["value"][] };
  if (list !== undefined) return (list.values ?? []).map(plainValue);
  const map = value["kvlistValue"] as { readonly values?: readonly OtlpAttribute[] };
  if (map !== undefined) {
    return Object.fromEntries((map.values ?? []).map((one) => [one.key, plainValue(one.value)]));
  }
  return Object.values(value)[0];
}
