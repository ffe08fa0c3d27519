/**
 * `fetch` whose signal ends the reading of the answer's body, too, whatever became of the answer
 * itself; follows nothing.
 */

/** Of bodies, their answers. */
const ANSWERS = new WeakMap<ReadableStream, Response>();

/**
 * As `fetch`. Deno 2.9 does not end the reading of a body by the request's signal once the answer
 * was collected as garbage, and a reader lets go of it who reads on in its body: so each body holds
 * its own.
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
