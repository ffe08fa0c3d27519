/**
 * The certificate and key that a listener serves TLS with, from two PEM files. Read once: a renewed
 * one needs a restart.
 */

import { messageOf, OperatingError } from "../base/errors.ts";
import type { ReadableFiles } from "../os/file_system.ts";
import type { TlsIdentity } from "./serve.ts";

export interface TlsPaths {
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
}

/**
 * Undefined when neither is set. Errors: `invalid_argument` for one alone, or a file that cannot be
 * read or is no PEM.
 */
export async function readTlsFiles(
  { tlsCert, tlsKey }: TlsPaths,
  fs: Pick<ReadableFiles, "readFile">,
): Promise<TlsIdentity | undefined> {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    const [set, missing] = tlsKey === undefined
      ? ["--tls-cert", "--tls-key"]
      : ["--tls-key", "--tls-cert"];
    throw new OperatingError(
      "invalid_argument",
      `cannot serve TLS with ${set} alone: give ${missing} too, or neither`,
    );
  }
  // One after the other, so that of two wrong files it is always the certificate that is named.
  const cert = await readPem(tlsCert, {
    option: "--tls-cert",
    fs,
    holds: /-----BEGIN CERTIFICATE-----/,
  });
  const key = await readPem(tlsKey, {
    option: "--tls-key",
    fs,
    holds: /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  });
  return { cert, key };
}

interface PemOptions {
  readonly option: string;
  readonly fs: Pick<ReadableFiles, "readFile">;
  readonly holds: RegExp;
}

async function readPem(path: string, { option, fs, holds }: PemOptions): Promise<string> {
  const failed = `cannot use ${path} of ${option}`;
  let text: string;
  try {
    text = new TextDecoder().decode(await fs.readFile(path));
  } catch (error) {
    throw new OperatingError(
      "invalid_argument",
      `${failed}: ${messageOf(error)}; name a file that this process may read`,
      { cause: error },
    );
  }
  if (holds.test(text)) return text;
  throw new OperatingError("invalid_argument", `${failed}: it holds no such PEM block`);
}
