/** What the fuzzer sends. */

export interface FuzzInput {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  /** The body as it goes over the wire; undefined for none. */
  readonly body: Uint8Array | undefined;
  /** The sender hangs up after this many bytes of the body. */
  readonly hangsUpAt?: number;
}
