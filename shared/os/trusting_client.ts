/** Requests over TLS to servers whose authority the system does not know. */

/** Disposing it closes its connections. */
export interface TrustingClient extends Disposable {
  /** What `fetch` is given besides. */
  readonly init: { readonly client: Deno.HttpClient };
}

/** `ca` is the PEM text of the authority's certificate. Errors: the runtime's. */
export function trustingClient(ca: string): TrustingClient {
  const client = Deno.createHttpClient({ caCerts: [ca] });
  return { init: { client }, [Symbol.dispose]: () => client.close() };
}
