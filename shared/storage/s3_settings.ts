/**
 * Where an S3 warehouse is and who reads it: the URL of `--warehouse-url` and the standard
 * variables of S3 clients. Files below the home directory and the metadata service of cloud
 * machines are not asked.
 */

import { OperatingError, UsageError } from "../base/errors.ts";
import { checkKey } from "./object_key.ts";

export interface S3Place {
  readonly bucket: string;
  /** What every key begins with, without slashes at its ends. Empty: no prefix. */
  readonly prefix: string;
}

export interface S3Access {
  /** Base address of the service. */
  readonly endpoint: string;
  readonly region: string;
  /**
   * `https://host/bucket/key` in place of `https://bucket.host/key`: what services other than
   * Amazon's understand.
   */
  readonly pathStyle: boolean;
  readonly credentials: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string;
  };
}

/** The option that names a warehouse unless it is told. */
export const WAREHOUSE_OPTION = "--warehouse-url";

const REGION_DEFAULT = "us-east-1";
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/** Whether `text` names a bucket: `s3://…`. */
export function isS3Url(text: string): boolean {
  return /^s3:\/\//i.test(text);
}

/** Bucket and prefix of `s3://bucket/prefix`. Errors: `invalid_argument`. */
export function parseS3Url(text: string): S3Place {
  const [bucket = "", ...rest] = text.replace(/^s3:\/\//i, "").split("/");
  if (!BUCKET.test(bucket)) {
    throw refusal("whose bucket is no name of one");
  }
  const prefix = rest.join("/").replace(/\/+$/, "");
  try {
    if (prefix !== "") checkKey(prefix);
  } catch (cause) {
    throw refusal("whose path is no prefix of a key", cause);
  }
  return { bucket, prefix };
}

type Environment = (name: string) => string | undefined;

/** Errors: `invalid_argument` naming the variable that is missing. */
export function s3AccessOf(env: Environment): S3Access {
  const region = env("AWS_REGION") || env("AWS_DEFAULT_REGION") || REGION_DEFAULT;
  const endpoint = env("AWS_ENDPOINT_URL_S3") || env("AWS_ENDPOINT_URL");
  const sessionToken = env("AWS_SESSION_TOKEN");
  if (endpoint && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? "")) {
    throw new UsageError(
      `Cannot use AWS_ENDPOINT_URL ${JSON.stringify(endpoint)}: give https://host:port`,
      { reason: "bad_endpoint" },
    );
  }
  return {
    endpoint: endpoint || amazonEndpoint(region),
    region,
    pathStyle: Boolean(endpoint),
    credentials: {
      accessKeyId: required(env, "AWS_ACCESS_KEY_ID"),
      secretAccessKey: required(env, "AWS_SECRET_ACCESS_KEY"),
      ...(sessionToken ? { sessionToken } : {}),
    },
  };
}

/** URLs that requests for a bucket go to: for the network permission of a process. */
export function s3Services(place: S3Place, env: Environment): string[] {
  const endpoint = env("AWS_ENDPOINT_URL_S3") || env("AWS_ENDPOINT_URL");
  if (endpoint) return [endpoint];
  const url = new URL(
    amazonEndpoint(env("AWS_REGION") || env("AWS_DEFAULT_REGION") || REGION_DEFAULT),
  );
  return [`https://${place.bucket}.${url.host}`, url.origin];
}

function amazonEndpoint(region: string): string {
  return `https://s3.${region}.amazonaws.com`;
}

function required(env: Environment, name: string): string {
  const value = env(name);
  if (value) return value;
  throw new OperatingError(
    "invalid_argument",
    `Cannot use an S3 warehouse without ${name}: set it in the environment of this process`,
    { reason: "no_credentials" },
  );
}

/** The URL itself may hold a secret. */
function refusal(what: string, cause?: unknown): OperatingError {
  return new UsageError(
    `Cannot use a warehouse URL of S3 ${what}: give s3://bucket/path, credentials in the environment`,
    { reason: "unsupported_warehouse", cause },
  );
}
