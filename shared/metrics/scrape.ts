/** `GET /metrics`. Never needs a token: scrapers send none. */

interface Renderer {
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
 * A whole metrics listener: `/metrics`, `/healthz` of the process, and a pointer to them everywhere
 * else.
 */
export function metricsHandler(metrics: Renderer): (request: Request) => Promise<Response> {
  return async (request) => {
    const readsOnly = request.method === "GET" || request.method === "HEAD";
    const path = new URL(request.url).pathname;
    if (readsOnly && path === "/metrics") return await scrapeResponse(request, metrics);
    if (readsOnly && path === "/healthz") return Response.json({ status: "ok" });
    await request.body?.cancel();
    return new Response("this listener serves GET /metrics and GET /healthz\n", { status: 404 });
  };
}
