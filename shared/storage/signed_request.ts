/**
 * Requests signed as Amazon's services ask for it (Signature Version 4), with node:crypto alone.
 * They are reads of objects, and requests to the services beside S3. The others are signed by S3's
 * client library.
 */

import { createHash, createHmac } from "node:crypto";
import type { S3Access } from "./s3_settings.ts";

export interface SignedRequest {
  readonly method: "GET" | "POST";
  /** Without a query; its path is encoded as it is sent. */
  readonly url: URL;
  /** Besides those that the signature brings; their names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bodySha256: string;
  readonly nowMs: number;
}

/** Who signs, for what. */
export interface SigningScope {
  readonly region: string;
  /** Its name in the scope of the signature, `sts`. */
  readonly service: string;
  readonly credentials: S3Access["credentials"];
}

const ALGORITHM = "AWS4-HMAC-SHA256";

/** Signs requests of one scope. */
export class RequestSigner {
  /** The key of the day that was asked for last. */
  #known: { readonly day: string; readonly key: Uint8Array } | undefined;

  constructor(private readonly scope: SigningScope) {}

  /** All headers to send with the request; `host` is left to the client. */
  headers(request: SignedRequest): Record<string, string> {
    const { method, url, bodySha256, nowMs } = request;
    const { region, service, credentials } = this.scope;
    const date = new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, "");
    const token = credentials.sessionToken;
    const headers: Record<string, string> = {
      ...request.headers,
      "x-amz-date": date,
      ...token === undefined ? {} : { "x-amz-security-token": token },
    };
    const signed = Object.entries({ host: url.host, ...headers }).toSorted(([a], [b]) =>
      a < b ? -1 : 1
    );
    const names = signed.map(([name]) => name).join(";");
    const canonical = [
      ...[method, url.pathname, ""],
      ...signed.map(([name, value]) => `${name}:${value}`),
      ...["", names, bodySha256],
    ].join("\n");
    const day = date.slice(0, 8);
    const place = [day, region, service, "aws4_request"].join("/");
    const text = [ALGORITHM, date, place, sha256(canonical)].join("\n");
    const signature = createHmac("sha256", this.#keyOf(day)).update(text).digest("hex");
    return {
      ...headers,
      authorization:
        `${ALGORITHM} Credential=${credentials.accessKeyId}/${place}, SignedHeaders=${names}, ` +
        `Signature=${signature}`,
    };
  }

  #keyOf(day: string): Uint8Array {
    if (this.#known?.day === day) return this.#known.key;
    const { region, service, credentials } = this.scope;
    const key = [day, region, service, "aws4_request"].reduce<string | Uint8Array>(
      hmac,
      `AWS4${credentials.secretAccessKey}`,
    ) as Uint8Array;
    this.#known = { day, key };
    return key;
  }
}

/** Lower-case hexadecimal SHA-256 of a text. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function hmac(key: string | Uint8Array, text: string): Uint8Array {
  return createHmac("sha256", key).update(text).digest();
}
