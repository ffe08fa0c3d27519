/**
 * Jaeger's published shapes, for tests. Version 1 is from its `uimodel`, version 3 from the OpenAPI
 * of jaeger-idl with what the Jaeger UI demands beyond it (ids, decimal texts, one type a value).
 * Strict: a member that they do not know fails.
 */

import { z } from "zod";

const int = z.int().min(0);
const v1TraceId = z.string().regex(/^(?:[0-9a-f]{16}|[0-9a-f]{32})$/);
const spanIdHex = z.string().regex(/^(?!0+$)[0-9a-f]{16}$/);

const tag = z.discriminatedUnion("type", [
  z.strictObject({ key: z.string(), type: z.literal("string"), value: z.string() }),
  z.strictObject({ key: z.string(), type: z.literal("bool"), value: z.boolean() }),
  z.strictObject({
    key: z.string(),
    type: z.literal("int64"),
    value: z.union([z.int(), z.string().regex(/^-?\d{16,19}$/)]),
  }),
  z.strictObject({ key: z.string(), type: z.literal("float64"), value: z.number() }),
]);

const v1Span = z.strictObject({
  traceID: v1TraceId,
  spanID: spanIdHex,
  flags: int.optional(),
  operationName: z.string(),
  references: z.array(z.strictObject({
    refType: z.enum(["CHILD_OF", "FOLLOWS_FROM"]),
    traceID: v1TraceId,
    spanID: spanIdHex,
  })),
  startTime: int,
  duration: int,
  tags: z.array(tag),
  logs: z.array(z.strictObject({ timestamp: int, fields: z.array(tag) })),
  processID: z.string(),
  warnings: z.null(),
});

const v1Trace = z.strictObject({
  traceID: v1TraceId,
  spans: z.array(v1Span).min(1),
  processes: z.record(z.string(), z.strictObject({ serviceName: z.string(), tags: z.array(tag) })),
  warnings: z.null(),
}).refine(({ spans, processes }) => spans.every(({ processID }) => processID in processes))
  .refine(({ traceID, spans }) => spans.every((span) => span.traceID === traceID));

const envelope = <T extends z.ZodType>(data: T) =>
  z.strictObject({
    data,
    total: int,
    limit: z.literal(0),
    offset: z.literal(0),
    errors: z.union([
      z.null(),
      z.array(z.strictObject({
        code: int.optional(),
        msg: z.string(),
        traceID: v1TraceId.optional(),
      })).min(1),
    ]),
  });

export const V1_TRACES = envelope(z.array(v1Trace));
export const V1_NAMES = envelope(z.array(z.string()));
export const V1_OPERATIONS = envelope(
  z.array(z.strictObject({ name: z.string(), spanKind: z.string() })),
);
export const V1_DEPENDENCIES = envelope(
  z.array(z.strictObject({ parent: z.string(), child: z.string(), callCount: int })),
);
export const V1_ERROR = envelope(z.null());

export type V1Trace = z.infer<typeof v1Trace>;

const traceIdHex = z.string().regex(/^(?!0+$)[0-9a-f]{32}$/);
const nanos = z.string().regex(/^\d{1,20}$/);

interface AnyValue {
  readonly stringValue?: string | undefined;
  readonly boolValue?: boolean | undefined;
  readonly intValue?: string | undefined;
  readonly doubleValue?: number | undefined;
  readonly arrayValue?: { readonly values?: AnyValue[] | undefined } | undefined;
  readonly kvlistValue?: { readonly values?: KeyValue[] | undefined } | undefined;
}

interface KeyValue {
  readonly key: string;
  readonly value: AnyValue;
}

const anyValue: z.ZodType<AnyValue> = z.lazy(() =>
  z.strictObject({
    stringValue: z.string().optional(),
    boolValue: z.boolean().optional(),
    intValue: z.string().regex(/^-?\d{1,19}$/).optional(),
    doubleValue: z.number().optional(),
    arrayValue: z.strictObject({ values: z.array(anyValue).optional() }).optional(),
    kvlistValue: z.strictObject({ values: z.array(keyValue).optional() }).optional(),
  }).refine((value) => Object.keys(value).length === 1, "one type a value")
);
const keyValue: z.ZodType<KeyValue> = z.lazy(() =>
  z.strictObject({ key: z.string(), value: anyValue })
);
const attributes = z.array(keyValue).optional();

const v3Span = z.strictObject({
  traceId: traceIdHex,
  spanId: spanIdHex,
  traceState: z.string().optional(),
  parentSpanId: spanIdHex.optional(),
  flags: int.optional(),
  name: z.string(),
  kind: int,
  startTimeUnixNano: nanos,
  endTimeUnixNano: nanos,
  attributes,
  droppedAttributesCount: int.optional(),
  events: z.array(z.strictObject({
    timeUnixNano: nanos,
    name: z.string(),
    attributes,
    droppedAttributesCount: int.optional(),
  })).optional(),
  droppedEventsCount: int.optional(),
  links: z.array(z.strictObject({
    traceId: traceIdHex,
    spanId: spanIdHex,
    traceState: z.string().optional(),
    attributes,
    droppedAttributesCount: int.optional(),
    flags: int.optional(),
  })).optional(),
  droppedLinksCount: int.optional(),
  status: z.strictObject({ message: z.string().optional(), code: int.optional() }),
});

export const V3_TRACES = z.strictObject({
  result: z.strictObject({
    resourceSpans: z.array(z.strictObject({
      resource: z.strictObject({ attributes }),
      scopeSpans: z.array(z.strictObject({
        scope: z.strictObject({
          name: z.string().optional(),
          version: z.string().optional(),
          attributes,
        }),
        spans: z.array(v3Span).min(1),
      })).min(1),
    })).min(1),
  }),
});
export const V3_SERVICES = z.strictObject({ services: z.array(z.string()) });
export const V3_OPERATIONS = z.strictObject({
  operations: z.array(z.strictObject({ name: z.string(), spanKind: z.string() })),
});
export const V3_SUMMARIES = z.strictObject({
  summaries: z.array(z.strictObject({
    traceId: traceIdHex,
    rootServiceName: z.string(),
    rootOperationName: z.string(),
    minStartTimeUnixNano: nanos,
    maxEndTimeUnixNano: nanos,
    spanCount: int,
    errorSpanCount: int,
    orphanSpanCount: int,
    services: z.array(z.strictObject({
      name: z.string(),
      spanCount: int,
      errorSpanCount: int,
    })),
  })),
});
export const V3_DEPENDENCIES = z.strictObject({
  dependencies: z.array(z.strictObject({
    parent: z.string(),
    child: z.string(),
    callCount: z.string().regex(/^\d+$/),
  })),
});
export const V3_ERROR = z.strictObject({
  error: z.strictObject({ httpCode: z.int(), message: z.string() }),
});
