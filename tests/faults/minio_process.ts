/**
 * MinIO of a round's own over one folder; it can die and come back with its data. Go's proxy has it
 * as a module: `go install github.com/minio/minio@…`.
 */

import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { freePort } from "../../shared/testing/free_ports.ts";
import { run, until } from "./commands.ts";

/** The version that these tests were written with. */
export const MINIO_MODULE = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c";
const BUCKET = "warehouse";
const CREDENTIALS = { accessKeyId: "faults", secretAccessKey: "faults-secret" };
const READY_MS_MAX = 60_000;

export class MinioProcess implements AsyncDisposable {
  readonly #program: string;
  readonly #folder: string;
  readonly #address: string;
  #process: Deno.ChildProcess | undefined;

  private constructor(program: string, folder: string, address: string) {
    this.#program = program;
    this.#folder = folder;
    this.#address = `${address}:${freePort()}`;
  }

  /** Starts it at an IPv4 address of this machine over an empty folder, with a bucket. */
  static async start(program: string, folder: string, address: string): Promise<MinioProcess> {
    const minio = new MinioProcess(program, folder, address);
    try {
      await minio.resume();
      const client = new S3Client({
        ...{ region: "us-east-1", endpoint: minio.url, forcePathStyle: true },
        credentials: CREDENTIALS,
      });
      await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
      client.destroy();
    } catch (error) {
      await minio[Symbol.asyncDispose]();
      throw error;
    }
    return minio;
  }

  get url(): string {
    return `http://${this.#address}`;
  }

  /** A warehouse in its bucket. */
  get warehouseUrl(): string {
    return `s3://${BUCKET}/lake`;
  }

  /** The variables that lead a process here. */
  get environment(): Record<string, string> {
    return {
      AWS_ENDPOINT_URL: this.url,
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    };
  }

  /** SIGKILL: connections break, what was stored stays. */
  async kill(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined) return;
    try {
      running.kill("SIGKILL");
    } catch {
      // It has ended by itself.
    }
    await running.status;
  }

  /** Starts it over what is stored, and waits until it answers. */
  async resume(): Promise<void> {
    this.#process = new Deno.Command(this.#program, {
      args: ["server", "--quiet", "--address", this.#address, this.#folder],
      env: {
        MINIO_ROOT_USER: CREDENTIALS.accessKeyId,
        MINIO_ROOT_PASSWORD: CREDENTIALS.secretAccessKey,
        MINIO_BROWSER: "off",
        MINIO_UPDATE: "off",
      },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    await until("MinIO is ready", async () => {
      const response = await fetch(`${this.url}/minio/health/ready`).catch(() => undefined);
      await response?.body?.cancel();
      return response?.ok === true;
    }, READY_MS_MAX);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** The program: on the path, or where Go puts it; undefined when it is not there. */
export async function findMinio(): Promise<string | undefined> {
  const script = 'command -v minio || { at="${GOBIN:-${GOPATH:-$HOME/go}/bin}/minio"; ' +
    '[ -x "$at" ] && echo "$at"; }';
  return await run("sh", "-c", script).catch(() => undefined);
}
