/** Requests to a peer. Bodies and answers are bounded; each wait ends with the caller's signal. */

import { z } from "zod";
import { OperatingError } from "../../shared/base/errors.ts";
import { VERSION } from "../../shared/base/version.ts";
import { type TrustingClient, trustingClient } from "../../shared/os/trusting_client.ts";
import type { Greeting, PeerAddress } from "./peer_state.ts";

/** Says which version a coordinator runs. */
export const VERSION_HEADER = "x-svc-version";
const GREETING_PATH = "/api/v1/sql/peer";
const SHARD_PATH = "/api/v1/sql/shard";
/** A greeting and an error's body are small. */
const TEXT_BYTES_MAX = 64 * 1024;

const GREETING = z.object({ instance_id: z.string(), version: z.string() });
const REFUSAL = z.object({ error: z.string(), reason: z.string().optional() });

/** What a peer answered that is no success. */
export class PeerRefusal extends Error {
  override readonly name = "PeerRefusal";
  constructor(
    readonly status: number,
    readonly reason: string | undefined,
    message: string,
  ) {
    super(message);
  }
}

export interface PeerClientOptions {
  readonly token: string | undefined;
  readonly isTls: boolean;
  /** PEM text of an authority that the system does not know. */
  readonly ca: string | undefined;
}

/** Asks peers. Disposing it closes its connections. */
export class PeerClient implements Disposable {
  readonly #client: TrustingClient | undefined;

  constructor(private readonly options: PeerClientOptions) {
    const { ca } = options;
    this.#client = ca === undefined ? undefined : trustingClient(ca);
  }

  /** Errors: `PeerRefusal`, and those of `fetch`. */
  async greet(peer: PeerAddress, signal: AbortSignal): Promise<Greeting> {
    const response = await this.#ask(peer, GREETING_PATH, { method: "GET", signal });
    const body = await textOf(response);
    if (response.status !== 200) throw refusalOf(response.status, body);
    const greeting = GREETING.safeParse(jsonOf(body));
    if (greeting.success) return greeting.data;
    throw new PeerRefusal(200, undefined, "its greeting is none: it is no query server of ours");
  }

  /** The body of a shard's answer. Errors: `PeerRefusal`, and those of `fetch`. */
  async shard(
    peer: PeerAddress,
    body: string,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#ask(peer, SHARD_PATH, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      signal,
    });
    if (response.status !== 200) throw refusalOf(response.status, await textOf(response));
    if (response.body === null) throw new PeerRefusal(200, undefined, "its answer has no body");
    return response.body;
  }

  [Symbol.dispose](): void {
    this.#client?.[Symbol.dispose]();
  }

  async #ask(
    peer: PeerAddress,
    path: string,
    init: RequestInit & { readonly headers?: Readonly<Record<string, string>> },
  ): Promise<Response> {
    const { token, isTls } = this.options;
    return await fetch(`${isTls ? "https" : "http"}://${peer}${path}`, {
      ...init,
      headers: {
        ...init.headers,
        [VERSION_HEADER]: VERSION,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      redirect: "error",
      ...this.#client?.init,
    });
  }
}

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of response.body ?? []) {
    text += decoder.decode(piece, { stream: true });
    if (text.length > TEXT_BYTES_MAX) {
      throw new OperatingError("unavailable", "the peer's answer is too long to be one");
    }
  }
  return text;
}

function refusalOf(status: number, body: string): PeerRefusal {
  const told = REFUSAL.safeParse(jsonOf(body));
  const { error, reason } = told.success ? told.data : { error: body.slice(0, 200) };
  return new PeerRefusal(status, reason, error);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
