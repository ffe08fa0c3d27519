/** `GET /metrics`. Never needs a token: scrapers send none. */

export interface Renderer {
  render(accept: string | null): Promise<{ contentType: string; text: string }>;
}

/** The answer to a scrape, in the format that its `Accept` header asks for. */
export async function scrapeResponse(request: Request, metrics: Renderer): Promise<Response> {
  const { contentType, text } = await metrics.render(request.headers.get("accept"));
  return new Response(text, {
    headers: { "content-type": contentType, "cache-control": "no-store" },
  });
}

/**
 * A whole metrics listener: `/metrics`, `/healthz` of the process, `/readyz` where `problem` tells
 * why it does not do its work, and a pointer to them everywhere else.
 */
export function metricsHandler(
  metrics: Renderer,
  problem?: () => string | undefined,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const readsOnly = request.method === "GET" || request.method === "HEAD";
    const path = new URL(request.url).pathname;
    if (readsOnly && path === "/metrics") return await scrapeResponse(request, metrics);
    if (readsOnly && path === "/healthz") return Response.json({ status: "ok" });
    if (readsOnly && path === "/readyz" && problem !== undefined) return readiness(problem());
    await request.body?.cancel();
    const paths = ["/metrics", ...(problem === undefined ? [] : ["/readyz"])];
    const text = `this listener serves GET ${paths.join(", GET ")} and GET /healthz\n`;
    return new Response(text, { status: 404 });
  };
}

function readiness(problem: string | undefined): Response {
  return problem === undefined
    ? Response.json({ status: "ready" })
    : Response.json({ status: "not_ready", error: problem }, { status: 503 });
}
