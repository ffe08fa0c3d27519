/**
 * Credentials for one table's folder in S3, for engines that ask for them. They are those of a
 * role, from the store's Security Token Service (AssumeRole), under a policy of their own. They
 * read, and with `--iceberg-writes` also add files; nobody may remove any.
 */

import { messageOf, OperatingError } from "../../shared/base/errors.ts";
import type { Clock } from "../../shared/os/clock.ts";
import { parseS3Url, type S3Access } from "../../shared/storage/s3_settings.ts";
import { RequestSigner, sha256 } from "../../shared/storage/signed_request.ts";
import { elementOf } from "../../shared/storage/xml_element.ts";

export interface VendedCredentialsParts {
  readonly stsUrl: string;
  readonly roleArn: string;
  /** The server's own. */
  readonly access: Pick<S3Access, "region" | "credentials">;
  /** Whether engines may add files. */
  readonly writes: boolean;
  readonly clock: Clock;
  readonly fetch?: typeof fetch;
}

interface Vended {
  readonly properties: Readonly<Record<string, string>>;
  readonly expiresMs: number;
}

const LIFE_SECS = 3_600;
/** Some are handed out again while they last for so long. */
const REST_MS_MIN = 1_800_000;
const TABLES_MAX = 1_000;
const ANSWER_MS_MAX = 10_000;
const VERSION = "2011-06-15";

export class VendedCredentials {
  readonly #parts: VendedCredentialsParts;
  /** By the table's location, oldest first. */
  readonly #known = new Map<string, Promise<Vended>>();

  constructor(parts: VendedCredentialsParts) {
    this.#parts = parts;
  }

  /**
   * Properties of Iceberg's clients for files below `location`, a table's. Errors: `unavailable`
   * (`sts_failed`).
   */
  async for(location: string): Promise<Readonly<Record<string, string>>> {
    const known = await this.#known.get(location)?.catch(() => undefined);
    if (known !== undefined && known.expiresMs - this.#parts.clock.nowMs() >= REST_MS_MIN) {
      return known.properties;
    }
    const asked = this.#ask(location);
    this.#known.delete(location);
    this.#known.set(location, asked);
    const [oldest] = this.#known.keys();
    if (this.#known.size > TABLES_MAX && oldest !== undefined) this.#known.delete(oldest);
    return (await asked).properties;
  }

  async #ask(location: string): Promise<Vended> {
    const { stsUrl, roleArn, access, writes, clock, fetch: send = fetch } = this.#parts;
    const url = new URL(stsUrl);
    const body = new URLSearchParams({
      ...{ Action: "AssumeRole", Version: VERSION, RoleArn: roleArn },
      RoleSessionName: sessionName(location),
      DurationSeconds: String(LIFE_SECS),
      Policy: JSON.stringify(policyOf(location, { writes, roleArn })),
    }).toString();
    const { region, credentials } = access;
    const headers = new RequestSigner({ region, service: "sts", credentials }).headers({
      ...{ method: "POST", url, bodySha256: sha256(body), nowMs: clock.nowMs() },
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    let text: string;
    try {
      const signal = AbortSignal.timeout(ANSWER_MS_MAX);
      const answer = await send(url, { method: "POST", headers, body, signal });
      text = await answer.text();
      if (!answer.ok) throw new Error(`${answer.status} ${elementOf(text, "Message") ?? ""}`);
      return vendedOf(text);
    } catch (cause) {
      throw new OperatingError(
        "unavailable",
        `Cannot get credentials of ${roleArn} from ${url.host}: ${messageOf(cause)}; look at the ` +
          "role and at --iceberg-sts-url, or let engines bring credentials of their own",
        { reason: "sts_failed", retryAfterSecs: 5, cause },
      );
    }
  }
}

/** What may be done to a table's folder; the role may allow less, never more. */
export function policyOf(
  location: string,
  { writes, roleArn }: Pick<VendedCredentialsParts, "writes" | "roleArn">,
): unknown {
  const { bucket, prefix } = parseS3Url(location);
  // In China and GovCloud, Amazon's resources are in the partition of the role. Other services
  // name roles in their own way, and resources in Amazon's.
  const [partition] = /(?<=^arn:)aws-[a-z-]+(?=:)/.exec(roleArn) ?? ["aws"];
  const place = `arn:${partition}:s3:::${bucket}`;
  const files = `${place}/${prefix}/*`;
  const actions = ["s3:GetObject", ...writes ? ["s3:PutObject", "s3:AbortMultipartUpload"] : []];
  return {
    Version: "2012-10-17",
    Statement: [
      { Effect: "Allow", Action: actions, Resource: [files] },
      {
        Effect: "Allow",
        Action: ["s3:ListBucket"],
        Resource: [place],
        Condition: { StringLike: { "s3:prefix": [`${prefix}/*`] } },
      },
    ],
  };
}

/** Names the table in the store's own log of accesses. */
function sessionName(location: string): string {
  const name = location.split("/").slice(-2).join("-");
  return name.replaceAll(/[^\w+=,.@-]/g, "-").slice(0, 64);
}

function vendedOf(xml: string): Vended {
  const value = (name: string) => {
    const found = elementOf(xml, name);
    if (found === undefined) throw new Error(`its answer has no ${name}`);
    return found;
  };
  const expiresMs = Date.parse(value("Expiration"));
  if (Number.isNaN(expiresMs)) throw new Error("its answer tells no time of expiry");
  return {
    expiresMs,
    properties: {
      "s3.access-key-id": value("AccessKeyId"),
      "s3.secret-access-key": value("SecretAccessKey"),
      "s3.session-token": value("SessionToken"),
      "s3.session-token-expires-at-ms": String(expiresMs),
    },
  };
}
