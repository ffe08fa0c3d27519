/**
 * Objects in a bucket of an S3 service, through the service's own client library; their bytes are
 * read without it (`s3_reads.ts`).
 *
 * - `putNew` is one conditional PUT (`If-None-Match: *`), from `PART_BYTES_MAX` on a multipart
 *   upload that is completed under the same condition and aborted when a part fails. A service that
 *   does not know the condition replaces instead; keys of this program hold a fresh UUID, so that
 *   no two writers have the same.
 * - Each upload carries its SHA-256, signed with the request. A thread of the runtime's own
 *   computes it, because the hash of a whole segment would hold up whatever else the process does.
 *   A response that is shorter than it announced is `unavailable`.
 * - One attempt, each of its requests with a deadline that its answer's body is under, too, and
 *   that ends the request; `retrying_store.ts` tries again.
 *
 * Needs net permission for the endpoint, and env `AWS_*`, which the library looks into when it is
 * loaded.
 */

import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { FetchHttpHandler } from "@smithy/fetch-http-handler";
import { counted } from "../base/counted.ts";
import { hexOf } from "../base/bytes.ts";
import { VERSION } from "../base/version.ts";
import { fetchToItsEnd } from "./fetch_to_its_end.ts";
import { checkKey, checkPrefix } from "./object_key.ts";
import type { ObjectInfo, ObjectStore } from "./object_store.ts";
import { ForeignAnswer, s3Error, type S3Service, Unanswered } from "./s3_errors.ts";
import { S3Reads } from "./s3_reads.ts";
import { type S3Access, type S3Place, WAREHOUSE_OPTION } from "./s3_settings.ts";
import { wholeBody } from "./whole_body.ts";

export interface S3Options {
  /** Milliseconds for one request, its body included; default 30,000. */
  readonly requestMsMax?: number;
  /** Milliseconds in which nothing comes of the answer to a read; default 10,000. */
  readonly silentMsMax?: number;
  /** For messages: what named the bucket; default `WAREHOUSE_OPTION`. */
  readonly option?: string;
  /** Objects longer than this are sent in parts of this size; default 16 MiB. */
  readonly partBytesMax?: number;
  /** Keys of one page of a list; default: as many as the service gives, 1,000. */
  readonly pageKeysMax?: number;
}

const REQUEST_MS_MAX = 30_000;
/**
 * A read that stalls is tried again while the statement that waits for it has time left:
 * `RetryPolicy.silentAttemptsMax`.
 */
const SILENT_MS_MAX = 10_000;
const PART_BYTES_MAX = 16 * 1024 * 1024;
/** Parts of one upload that are on their way at a time. */
const PARTS_AT_ONCE = 4;
/** The service's own bound. */
const DELETES_MAX = 1_000;

/** Opens nothing: the first request finds out. Errors of every call: `s3_errors.ts`. */
export function openS3Store(
  place: S3Place,
  access: S3Access,
  options: S3Options = {},
): ObjectStore {
  return new S3Store(place, access, options);
}

class S3Store implements ObjectStore {
  readonly rootUri: string;
  readonly #client: S3Client;
  readonly #reads: S3Reads;
  readonly #bucket: string;
  /** Empty, or ends with a slash. */
  readonly #prefix: string;
  readonly #options: Required<Omit<S3Options, "pageKeysMax">> & S3Options;
  readonly #service: S3Service;

  constructor({ bucket, prefix }: S3Place, access: S3Access, options: S3Options) {
    this.#bucket = bucket;
    this.#prefix = prefix === "" ? "" : `${prefix}/`;
    this.rootUri = `s3://${bucket}${prefix === "" ? "" : `/${prefix}`}`;
    this.#options = {
      requestMsMax: REQUEST_MS_MAX,
      silentMsMax: SILENT_MS_MAX,
      partBytesMax: PART_BYTES_MAX,
      option: WAREHOUSE_OPTION,
      ...options,
    };
    this.#client = clientOf(access);
    this.#reads = new S3Reads({ bucket }, access);
    const { endpoint, pathStyle: isNamed } = access;
    this.#service = { endpoint, isNamed, rootUri: this.rootUri, option: this.#options.option };
  }

  get(key: string): Promise<Uint8Array<ArrayBuffer>> {
    return this.#attempt("read", key, (Key) => this.#body(Key));
  }

  getRange(key: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.#attempt("read", key, async (Key) => {
      if (length === 0) {
        await this.#head(Key);
        return new Uint8Array();
      }
      const range = `bytes=${offset}-${offset + length - 1}`;
      try {
        return await this.#body(Key, range);
      } catch (error) {
        // The range begins past the object's end.
        if ((error as { name?: unknown }).name === "InvalidRange") return new Uint8Array();
        throw error;
      }
    });
  }

  head(key: string): Promise<ObjectInfo> {
    return this.#attempt("stat", key, async (Key) => {
      const { ContentLength, LastModified } = await this.#head(Key);
      return { key, size: ContentLength ?? 0, modifiedMs: LastModified?.getTime() ?? 0 };
    });
  }

  async *list(prefix: string): AsyncIterable<ObjectInfo> {
    checkPrefix(prefix);
    let token: string | undefined;
    do {
      const asked = new ListObjectsV2Command({
        Bucket: this.#bucket,
        Prefix: `${this.#prefix}${prefix}`,
        ContinuationToken: token,
        MaxKeys: this.#options.pageKeysMax,
      });
      const page = await this.#told(
        `list ${prefix}`,
        async () => {
          const listed = await this.#reading((until) => this.#client.send(asked, until));
          requireS3(listed.IsTruncated ?? listed.Name);
          return listed;
        },
      );
      const infos = (page.Contents ?? []).map(({ Key = "", Size = 0, LastModified }) => ({
        key: Key.slice(this.#prefix.length),
        size: Size,
        modifiedMs: LastModified?.getTime() ?? 0,
      }));
      // Pages follow each other by key; some services have folders before files within one.
      yield* infos.sort((a, b) => a.key < b.key ? -1 : 1);
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  localPath(key: string): undefined {
    checkKey(key);
    return undefined;
  }

  putNew(key: string, bytes: Uint8Array): Promise<void> {
    return this.#attempt("write", key, async (Key) => {
      if (bytes.byteLength > this.#options.partBytesMax) return await this.#putParts(Key, bytes);
      const put = new PutObjectCommand({
        ...this.#at(Key),
        Body: bytes,
        ContentLength: bytes.byteLength,
        IfNoneMatch: "*",
      });
      requireS3((await this.#within((until) => this.#client.send(put, until))).ETag);
    });
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) checkKey(key);
    for (let at = 0; at < keys.length; at += DELETES_MAX) {
      const some = keys.slice(at, at + DELETES_MAX);
      const what = `delete ${counted(some.length, "object")}, the first ${some[0]}`;
      await this.#told(what, async () => {
        const Objects = some.map((key) => ({ Key: this.#prefix + key }));
        const removal = new DeleteObjectsCommand({
          Bucket: this.#bucket,
          Delete: { Objects, Quiet: true },
        });
        const { Errors = [] } = await this.#within((until) => this.#client.send(removal, until));
        const [first] = Errors.filter(({ Code }) => Code !== "NoSuchKey");
        if (first !== undefined) {
          throw Object.assign(new Error(first.Message), { name: first.Code });
        }
      });
    }
  }

  /** A part that fails fails the upload. No others follow, and what was sent of it is let go. */
  async #putParts(Key: string, bytes: Uint8Array): Promise<void> {
    const begin = new CreateMultipartUploadCommand(this.#at(Key));
    const { UploadId } = await this.#within((until) => this.#client.send(begin, until));
    const upload = { ...this.#at(Key), UploadId };
    const size = this.#options.partBytesMax;
    const count = Math.ceil(bytes.byteLength / size);
    let next = 0;
    try {
      const tags: (string | undefined)[] = [];
      const sender = async () => {
        for (let part = next++; part < count; part = next++) {
          const Body = bytes.subarray(part * size, (part + 1) * size);
          const put = new UploadPartCommand({
            ...upload,
            PartNumber: part + 1,
            Body,
            ContentLength: Body.byteLength,
          });
          const { ETag } = await this.#within((until) => this.#client.send(put, until));
          requireS3(ETag);
          tags[part] = ETag;
        }
      };
      await Promise.all(Array.from({ length: Math.min(PARTS_AT_ONCE, count) }, sender));
      const Parts = tags.map((ETag, at) => ({ ETag, PartNumber: at + 1 }));
      const end = new CompleteMultipartUploadCommand({
        ...upload,
        MultipartUpload: { Parts },
        IfNoneMatch: "*",
      });
      requireS3((await this.#within((until) => this.#client.send(end, until))).ETag);
    } catch (error) {
      next = count;
      const abort = new AbortMultipartUploadCommand(upload);
      // A rule of the bucket clears away what this leaves.
      await this.#within((until) => this.#client.send(abort, until)).catch(() => {});
      throw error;
    }
  }

  #at(Key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key };
  }

  #body(key: string, range?: string): Promise<Uint8Array<ArrayBuffer>> {
    return this.#reading(async ({ abortSignal }, heard) => {
      const answer = await this.#reads.get(key, range, abortSignal);
      const bytes = await wholeBody(answer, heard);
      requireS3(answer.headers.get("etag") ?? undefined);
      return bytes;
    });
  }

  async #head(Key: string): Promise<HeadObjectCommandOutput> {
    const command = new HeadObjectCommand(this.#at(Key));
    try {
      const answer = await this.#reading((until) => this.#client.send(command, until));
      requireS3(answer.ETag);
      return answer;
    } catch (error) {
      // An answer to HEAD has no body that could name its reason.
      if ((error as { name?: unknown }).name !== "NotFound") throw error;
      throw Object.assign(new Error("there is no such object"), { name: "NoSuchKey" });
    }
  }

  /**
   * Runs a request as `#within` does, and watches that its bytes keep coming: `heard` says that
   * some came.
   */
  #reading<T>(run: (until: Until, heard: () => void) => Promise<T>): Promise<T> {
    const { silentMsMax } = this.#options;
    return this.#within((until, giveUp) => {
      let heardMs = performance.now();
      const look = () => {
        const leftMs = heardMs + silentMsMax - performance.now();
        if (leftMs > 0) timer = setTimeout(look, leftMs);
        else giveUp(`the store did not answer for ${silentMsMax} ms`);
      };
      let timer = setTimeout(look, silentMsMax);
      return run(until, () => heardMs = performance.now()).finally(() => clearTimeout(timer));
    });
  }

  /**
   * Ends the request that `run` makes, and the reading of its answer, when its time is over, or
   * `run` gives up.
   */
  async #within<T>(
    run: (until: Until, giveUp: (why: string) => void) => Promise<T>,
  ): Promise<T> {
    const { requestMsMax } = this.#options;
    const ending = new AbortController();
    const { promise: over, reject } = Promise.withResolvers<never>();
    const giveUp = (why: string) => {
      const late = new Unanswered(why);
      reject(late);
      ending.abort(late);
    };
    const timer = setTimeout(
      () => giveUp(`it was not answered in full within ${requestMsMax} ms`),
      requestMsMax,
    );
    try {
      return await Promise.race([over, run({ abortSignal: ending.signal }, giveUp)]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #attempt<T>(
    verb: string,
    key: string,
    action: (whole: string) => Promise<T>,
  ): Promise<T> {
    checkKey(key);
    return await this.#told(`${verb} ${key}`, () => action(this.#prefix + key));
  }

  async #told<T>(what: string, action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      throw s3Error(what, error, this.#service);
    }
  }
}

/** A client that asks nothing but what it is given: no files of the user's, no metadata service. */
function clientOf(access: S3Access): S3Client {
  const client = new S3Client({
    endpoint: access.endpoint,
    region: access.region,
    forcePathStyle: access.pathStyle,
    credentials: access.credentials,
    maxAttempts: 1,
    requestHandler: new FetchHttpHandler({ customFetch: fetchToItsEnd }),
    defaultUserAgentProvider: () => Promise.resolve([["svc", VERSION]]),
    userAgentAppId: "svc",
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    // What follows would be looked up in files.
    retryMode: "standard",
    defaultsMode: "standard",
    authSchemePreference: ["aws.auth#sigv4"],
    sigv4aSigningRegionSet: [],
    disableClockSkewCorrection: false,
    disableMultiregionAccessPoints: true,
    disableS3ExpressSessionAuth: true,
    useArnRegion: false,
    useDualstackEndpoint: false,
    useFipsEndpoint: false,
  });
  // It reads variables of a platform that this does not run on.
  client.middlewareStack.remove("recursionDetectionMiddleware");
  // Told the payload's hash, the signer does not make it itself, on this thread.
  client.middlewareStack.add((next) => async (args) => {
    const { Body } = args.input as { Body?: unknown };
    const { headers } = args.request as { headers: Record<string, string> };
    if (Body instanceof Uint8Array) headers["x-amz-content-sha256"] = await sha256Of(Body);
    return await next(args);
  }, { step: "build", name: "payloadHash" });
  return client;
}

interface Until {
  readonly abortSignal: AbortSignal;
}

/**
 * `field` is of every answer of an S3 service: who else says that an object is stored does not have
 * it.
 */
function requireS3(field: unknown): void {
  if (field === undefined) throw new ForeignAnswer("a field is missing");
}

async function sha256Of(bytes: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  return hexOf(new Uint8Array(digest));
}
