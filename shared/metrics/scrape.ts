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
