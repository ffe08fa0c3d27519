/**
 * An OpenID Connect issuer on a loopback port that signs tokens, rotates its keys, and misbehaves
 * when told to. Its clock is the system's unless claims say otherwise.
 */

import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTPayload,
  SignJWT,
} from "jose";

/** What a request to the issuer meets. */
export type IssuerMood =
  | "well"
  /** Accepts and never answers. */
  | "silent"
  /** Answers a byte now and then, for ever. */
  | "trickling"
  /** Answers without end. */
  | "endless"
  | "failing"
  | "html"
  /** JSON of other shapes than asked for. */
  | "other_json"
  | "bad_keys"
  | "no_keys"
  | "other_issuer"
  | "redirecting";

export const BAD_MOODS: readonly IssuerMood[] = [
  "silent",
  "trickling",
  "endless",
  "failing",
  "html",
  "other_json",
  "bad_keys",
  "no_keys",
  "other_issuer",
  "redirecting",
];

export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

export const AUDIENCE = "svc-test";

const DISCOVERY = "/realm/.well-known/openid-configuration";
/** Where a redirecting issuer has good documents. */
const ELSEWHERE = "/elsewhere";

export class FakeIssuer implements AsyncDisposable {
  mood: IssuerMood = "well";
  /** Requests for the discovery document so far. */
  discoveries = 0;
  /** The first one signs. */
  keys: SigningKey[];
  readonly #port: number;
  readonly #end = new AbortController();
  #server: Deno.HttpServer<Deno.NetAddr> | undefined;

  private constructor(first: SigningKey) {
    this.keys = [first];
    this.#server = this.#listen(0);
    this.#port = this.#server.addr.port;
  }

  static async start(): Promise<FakeIssuer> {
    return new FakeIssuer(await makeKey("key-1"));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/realm`;
  }

  /** Withdraws all keys for a new one. */
  async rotate(kid: string, alg = "ES256"): Promise<void> {
    this.keys = [await makeKey(kid, alg)];
  }

  /** Nobody listens any more. */
  async leave(): Promise<void> {
    this.#end.abort();
    await this.#server?.shutdown();
    this.#server = undefined;
  }

  /** A good token; `claims` replace or, undefined, remove what it says. */
  token(claims: Record<string, unknown> = {}, by: Partial<SigningKey> = {}): Promise<string> {
    const key = { ...this.#signer(), ...by };
    const nowSecs = Math.floor(Date.now() / 1_000);
    const all = {
      iss: this.url,
      aud: AUDIENCE,
      sub: "sender-1",
      iat: nowSecs,
      exp: nowSecs + 3_600,
      ...claims,
    };
    const header = { alg: key.alg, ...(key.kid === "" ? {} : { kid: key.kid }) };
    const payload = JSON.parse(JSON.stringify(all)) as JWTPayload;
    return new SignJWT(payload).setProtectedHeader(header).sign(key.privateKey);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave();
  }

  #signer(): SigningKey {
    const [key] = this.keys;
    if (key === undefined) throw new Error("the issuer has no key");
    return key;
  }

  #listen(port: number): Deno.HttpServer<Deno.NetAddr> {
    const options = { hostname: "127.0.0.1", port, onListen: () => {} };
    return Deno.serve(options, (request) => this.#answer(new URL(request.url).pathname));
  }

  #answer(path: string): Response | Promise<Response> {
    if (path === DISCOVERY) this.discoveries++;
    switch (this.mood) {
      case "silent":
        return this.#untilEnd().then(() => new Response(null, { status: 500 }));
      case "trickling":
        return new Response(this.#stream(" ", 20));
      case "endless":
        return new Response(this.#stream(" ".repeat(65_536), 0));
      case "failing":
        return new Response("no", { status: 500 });
      case "html":
        return new Response("<html>sign in</html>");
      case "other_json":
        return Response.json([]);
      case "redirecting":
        if (path.startsWith(ELSEWHERE)) return this.#documents(path.slice(ELSEWHERE.length));
        return Response.redirect(new URL(ELSEWHERE + path, this.url));
      case "bad_keys":
      case "no_keys":
      case "other_issuer":
      case "well":
        return this.#documents(path);
    }
  }

  #documents(path: string): Response {
    if (path === DISCOVERY) {
      const issuer = this.mood === "other_issuer" ? "https://issuer.example" : this.url;
      return Response.json({ issuer, jwks_uri: `${this.url}/keys` });
    }
    if (path === "/realm/keys") {
      if (this.mood === "bad_keys") return Response.json({ keys: "none" });
      const keys = this.mood === "no_keys" ? [] : this.keys.map((key) => key.publicJwk);
      return Response.json({ keys });
    }
    return new Response(null, { status: 404 });
  }

  #untilEnd(): Promise<void> {
    const { signal } = this.#end;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
  }

  #stream(text: string, pauseMs: number): ReadableStream<Uint8Array> {
    const chunk = new TextEncoder().encode(text);
    const { signal } = this.#end;
    return new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        if (signal.aborted) controller.close();
        else controller.enqueue(chunk);
      },
    });
  }
}

export async function makeKey(kid: string, alg = "ES256"): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const publicJwk = {
    ...await exportJWK(publicKey),
    alg,
    use: "sig",
    ...(kid === "" ? {} : { kid }),
  };
  return { kid, alg, privateKey, publicJwk };
}
