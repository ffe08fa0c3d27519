/**
 * A POST of a form, signed as Amazon's services ask for it (Signature Version 4), with node:crypto
 * alone. What S3 needs is its client's; this is for the services beside it.
 */

import { createHash, createHmac } from "node:crypto";
import type { S3Access } from "./s3_settings.ts";

export interface SignedForm {
  readonly url: URL;
  readonly body: string;
  readonly region: string;
  /** Its name in the scope of the signature, `sts`. */
  readonly service: string;
  readonly credentials: S3Access["credentials"];
  readonly nowMs: number;
}

const ALGORITHM = "AWS4-HMAC-SHA256";
export const FORM_TYPE = "application/x-www-form-urlencoded";

/** The headers to send with it; `host` is left to the client. */
export function signedHeaders(form: SignedForm): Record<string, string> {
  const { url, body, region, service, credentials, nowMs } = form;
  const date = new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, "");
  const token = credentials.sessionToken;
  const headers: Record<string, string> = {
    "content-type": FORM_TYPE,
    "x-amz-date": date,
    ...token === undefined ? {} : { "x-amz-security-token": token },
  };
  const signed = Object.entries({ host: url.host, ...headers }).toSorted(([a], [b]) =>
    a < b ? -1 : 1
  );
  const names = signed.map(([name]) => name).join(";");
  const request = [
    ...["POST", url.pathname, ""],
    ...signed.map(([name, value]) => `${name}:${value}`),
    ...["", names, sha256(body)],
  ].join("\n");
  const scope = [date.slice(0, 8), region, service, "aws4_request"];
  const text = [ALGORITHM, date, scope.join("/"), sha256(request)].join("\n");
  let key: string | Uint8Array = `AWS4${credentials.secretAccessKey}`;
  for (const part of scope) key = hmac(key, part);
  const signature = createHmac("sha256", key).update(text).digest("hex");
  const credential = `${credentials.accessKeyId}/${scope.join("/")}`;
  return {
    ...headers,
    authorization:
      `${ALGORITHM} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function hmac(key: string | Uint8Array, text: string): Uint8Array {
  return createHmac("sha256", key).update(text).digest();
}
