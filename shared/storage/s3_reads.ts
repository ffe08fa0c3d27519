/**
 * Reads of objects in an S3 service, signed here and sent by the runtime's `fetch`. A scan makes
 * hundreds of them. The service's client library takes 1.2 ms of processor time for each, and 3 ms
 * for each of the first hundred; this takes 0.4 and 0.6.
 *
 * What a service refuses is thrown as the library would throw it: `s3_errors.ts` reads both.
 */

import { VERSION } from "../base/version.ts";
import { fetchToItsEnd } from "./fetch_to_its_end.ts";
import type { S3Access, S3Place } from "./s3_settings.ts";
import { RequestSigner, sha256 } from "./signed_request.ts";
import { elementOf } from "./xml_element.ts";

const NO_BODY = sha256("");

/** Reads one bucket's objects. */
export class S3Reads {
  readonly #signer: RequestSigner;
  /** What the path of each object's URL is behind. */
  readonly #base: string;

  constructor({ bucket }: Pick<S3Place, "bucket">, access: S3Access) {
    const { region, credentials } = access;
    this.#signer = new RequestSigner({ region, service: "s3", credentials });
    this.#base = baseOf(bucket, access);
  }

  /**
   * The answer to a GET of an object, or of `range` of it, as the header has it. Errors: those of
   * `fetch`; what the service refuses.
   */
  async get(key: string, range: string | undefined, signal: AbortSignal): Promise<Response> {
    const url = new URL(`${this.#base}/${pathOf(key)}`);
    const headers = this.#signer.headers({
      ...{ method: "GET", url, bodySha256: NO_BODY, nowMs: Date.now() },
      headers: {
        "user-agent": `svc/${VERSION}`,
        "x-amz-content-sha256": NO_BODY,
        ...range === undefined ? {} : { range },
      },
    });
    const answer = await fetchToItsEnd(url, { headers, signal });
    if (answer.ok) return answer;
    throw await refusalOf(answer);
  }
}

/** A certificate of Amazon's is of one label before the host: such a bucket's name is a path. */
function baseOf(bucket: string, { endpoint, pathStyle }: S3Access): string {
  // Without user and password, if it has any.
  const { protocol, host, pathname } = new URL(endpoint);
  const path = pathname.replace(/\/$/, "");
  return pathStyle || bucket.includes(".")
    ? `${protocol}//${host}${path}/${bucket}`
    : `${protocol}//${bucket}.${host}${path}`;
}

/** All but unreserved characters are encoded (RFC 3986), because the signature is over that. */
function pathOf(key: string): string {
  return key.split("/").map((part) =>
    encodeURIComponent(part).replaceAll(
      /[!'()*]/g,
      (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
    )
  ).join("/");
}

async function refusalOf(answer: Response): Promise<Error> {
  const text = await answer.text();
  const region = elementOf(text, "Region");
  return Object.assign(new Error(elementOf(text, "Message") ?? ""), {
    name: elementOf(text, "Code") ?? "",
    $metadata: { httpStatusCode: answer.status },
    $response: { headers: Object.fromEntries(answer.headers) },
    ...region === undefined ? {} : { Region: region },
  });
}
