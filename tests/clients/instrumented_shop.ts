/**
 * Two HTTP servers that call each other, instrumented with the official OpenTelemetry packages, and
 * what their exporters sent. Each body passes through a proxy that keeps it and hands it on. For
 * tests.
 */

import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
} from "@opentelemetry/api";
import { trace, TraceFlags } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

/** An OTLP/JSON request, as far as tests look into it. */
export interface SentBody {
  readonly resourceSpans: readonly {
    readonly resource?: { readonly attributes?: readonly unknown[] };
    readonly scopeSpans: readonly {
      readonly scope?: Readonly<Record<string, unknown>>;
      readonly spans: readonly SentSpan[];
    }[];
  }[];
}

export interface SentSpan extends Readonly<Record<string, unknown>> {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
}

type TracedHandler = (request: Request, span: Span, context: Context) => Promise<number>;

/** The last requests of a page carry these. */
export const ERROR_EVERY = 3;

export class InstrumentedShop implements AsyncDisposable {
  /** What exporters sent and the ingest server took, each once. */
  readonly sent: SentBody[] = [];
  readonly #owner = new AsyncDisposableStack();
  readonly #providers: TracerProvider[] = [];
  readonly #url: string;

  /**
   * `refuseAfterTaking`: the first body is stored and the sender told 503, so that it sends it
   * again.
   */
  constructor(ingestUrl: string, { refuseAfterTaking }: { readonly refuseAfterTaking: boolean }) {
    let refuses = refuseAfterTaking;
    const door = this.#serve(async (request) => {
      const body = await request.text();
      const taken = await fetch(`${ingestUrl}/v1/traces`, {
        method: "POST",
        headers: { "content-type": request.headers.get("content-type") ?? "" },
        body,
      });
      const answer = await taken.text();
      if (refuses && taken.ok) {
        refuses = false;
        return new Response("{}", { status: 503, headers: { "retry-after": "0" } });
      }
      if (taken.ok) this.sent.push(JSON.parse(body));
      return new Response(answer, { status: taken.status, headers: taken.headers });
    });
    const orders = this.#traced("orders", door, async (request, span) => {
      const fails = Number(new URL(request.url).searchParams.get("n")) % ERROR_EVERY === 0;
      if (fails) {
        span.recordException({ name: "Timeout", message: "no answer from stock" });
        span.setStatus({ code: SpanStatusCode.ERROR, message: "no answer from stock" });
      }
      await Promise.resolve();
      return fails ? 503 : 200;
    });
    let before: Span | undefined;
    this.#url = this.#traced("frontend", door, async (request, span, context) => {
      if (before !== undefined) {
        span.addLink({ context: before.spanContext(), attributes: { why: "previous" } });
      }
      before = span;
      const tracer = this.#providers[1]?.getTracer("shop/price", "0.3.0");
      const price = tracer?.startSpan("price", {
        attributes: { "price.total": 12.5, "price.items": ["a", "b"], "price.cached": false },
      }, context);
      price?.addEvent("rounded", { "round.digits": 2 });
      price?.end();
      const client = tracer?.startSpan("GET", { kind: SpanKind.CLIENT }, context);
      const answer = await fetch(`${orders}${new URL(request.url).search}`, {
        headers: { traceparent: traceparentOf(client) },
      });
      await answer.body?.cancel();
      client?.setAttribute("http.response.status_code", answer.status);
      client?.end();
      span.setStatus({ code: SpanStatusCode.OK });
      return 200;
    });
  }

  /** Asks the shop's page `count` times, one after the other, and exports all spans. */
  async visit(count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      const answer = await fetch(`${this.#url}/checkout?n=${n}`);
      await answer.body?.cancel();
    }
    for (const provider of this.#providers) await provider.forceFlush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const provider of this.#providers) await provider.shutdown();
    await this.#owner.disposeAsync();
  }

  /** A server whose requests are spans of `service`; its address. */
  #traced(service: string, door: string, handle: TracedHandler): string {
    const exporter = new OTLPTraceExporter({ url: `${door}/v1/traces` });
    const provider = new TracerProvider({
      resource: resourceFromAttributes({
        "service.name": service,
        "service.instance.id": `${service}-1`,
        "process.pid": 4711,
      }),
      spanProcessors: [new BatchSpanProcessor({ exporter, maxExportBatchSize: 32 })],
    });
    this.#providers.push(provider);
    const tracer = provider.getTracer("shop/http", "1.0.0");
    return this.#serve(async (request) => {
      const { pathname } = new URL(request.url);
      const span = tracer.startSpan(`${request.method} ${pathname}`, {
        kind: SpanKind.SERVER,
        attributes: { "http.request.method": request.method, "url.path": pathname, "tls": false },
      }, contextOf(request.headers.get("traceparent")));
      const status = await handle(request, span, trace.setSpan(ROOT_CONTEXT, span));
      span.setAttribute("http.response.status_code", status);
      span.end();
      return new Response(null, { status });
    });
  }

  #serve(handler: (request: Request) => Promise<Response>): string {
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, handler);
    this.#owner.defer(() => server.shutdown());
    return `http://127.0.0.1:${server.addr.port}`;
  }
}

/** W3C's header. */
function traceparentOf(span: Span | undefined): string {
  const { traceId, spanId } = span?.spanContext() ?? { traceId: "", spanId: "" };
  return `00-${traceId}-${spanId}-01`;
}

function contextOf(traceparent: string | null): Context {
  const [, traceId, spanId] = traceparent?.split("-") ?? [];
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT;
  const remote = { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
  return trace.setSpanContext(ROOT_CONTEXT, remote);
}
