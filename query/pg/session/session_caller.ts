/**
 * Who a session's client is. It is asked again for each statement, as a request over HTTP is: a
 * token that has ended, or a rate that is used up, ends the next statement.
 */

import type { CallerGate, QueryCaller } from "../../query_caller.ts";

interface CallerRequest {
  readonly headers: Headers;
}

/** What those ask with who gave no token: one for all sessions. */
const NAMELESS: CallerRequest = { headers: new Headers() };

export class SessionCaller {
  readonly #request: CallerRequest;
  #known: QueryCaller | undefined;

  /** `token`: what the client gave as its password; undefined: nobody asked for one. */
  constructor(
    private readonly gate: CallerGate,
    private readonly options: { readonly peer: string; readonly token: string | undefined },
  ) {
    const { token } = options;
    this.#request = token === undefined
      ? NAMELESS
      : { headers: new Headers({ authorization: `Bearer ${token}` }) };
  }

  /** Errors: those of `CallerGate.admit`. */
  async admit(): Promise<QueryCaller> {
    return this.#known = await this.gate.admit(this.#request, () => this.options.peer);
  }

  /** Who was admitted last. */
  get known(): QueryCaller {
    if (this.#known === undefined) throw new TypeError("a session begins when its caller is known");
    return this.#known;
  }
}
