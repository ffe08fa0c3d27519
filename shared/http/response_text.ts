/** Reading the answer of another server, which may be longer than anybody wants to hold. */

/**
 * The whole body as text. Errors: an `Error` that names `url` once more than `bytesMax` came, what
 * follows being left; those of the connection.
 */
export async function readResponseText(
  response: Response,
  { url, bytesMax }: { readonly url: string; readonly bytesMax: number },
): Promise<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = "";
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw new Error(`${url} is longer than ${bytesMax} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
