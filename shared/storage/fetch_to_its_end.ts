/**
 * `fetch` whose signal ends the reading of the answer's body, too, whatever became of the answer
 * itself; follows nothing.
 */

/** The response that each body belongs to. */
const ANSWERS = new WeakMap<ReadableStream, Response>();

/**
 * Fetches as `fetch` does, and keeps the response while its body is read. Each body holds its own
 * response, because Deno 2.9 no longer ends a read by the request's signal once the response was
 * collected as garbage.
 */
export async function fetchToItsEnd(
  input: RequestInfo | URL,
  init?: RequestInit,
): Promise<Response> {
  // Nothing of S3 sends elsewhere, where a signed request does not belong.
  const answer = await fetch(input, { ...init, redirect: "manual" });
  if (answer.body !== null) ANSWERS.set(answer.body, answer);
  return answer;
}
