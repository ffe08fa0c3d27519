/**
 * The certificate and key that a listener serves TLS with, from two PEM files. Read once: a renewed
 * one needs a restart.
 */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { getLogger } from "@logtape/logtape";
import { messageOf, OperatingError, UsageError } from "../base/errors.ts";
import { type Clock, SystemClock } from "../os/clock.ts";
import type { ReadableFiles } from "../os/file_system.ts";
import type { TlsIdentity } from "./listener.ts";

export interface TlsPaths {
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
}

/**
 * Undefined when neither is set. Errors: `invalid_argument` for one alone, a file that cannot be
 * read or is no PEM, an encrypted key, or a key of another certificate.
 */
export async function readTlsFiles(
  { tlsCert, tlsKey }: TlsPaths,
  fs: Pick<ReadableFiles, "readFile">,
  clock: Pick<Clock, "nowMs"> = new SystemClock(),
): Promise<TlsIdentity | undefined> {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    const [set, missing] = tlsKey === undefined
      ? ["--tls-cert", "--tls-key"]
      : ["--tls-key", "--tls-cert"];
    throw new UsageError(
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
  const certificate = requirePair({ cert, key }, { tlsCert, tlsKey });
  warnOfDates(certificate, { tlsCert, nowMs: clock.nowMs() });
  return { cert, key };
}

/**
 * Told by the listener in words of its own, which name neither file, and an expired certificate not
 * at all.
 */
function requirePair(
  { cert, key }: TlsIdentity,
  { tlsCert, tlsKey }: { readonly tlsCert: string; readonly tlsKey: string },
): X509Certificate {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch (cause) {
    throw new OperatingError(
      "invalid_argument",
      `cannot use ${tlsCert} of --tls-cert: its first certificate cannot be read; give the whole chain as PEM`,
      { cause },
    );
  }
  if (/ENCRYPTED/.test(key)) {
    throw new OperatingError(
      "invalid_argument",
      `cannot use ${tlsKey} of --tls-key: the key is encrypted, and nobody is there to be asked for its ` +
        "passphrase; give one without",
    );
  }
  if (isKeyOf(certificate, key) === false) {
    throw new OperatingError(
      "invalid_argument",
      `cannot serve TLS with ${tlsCert} of --tls-cert and ${tlsKey} of --tls-key: the key is not that of the first ` +
        "certificate; the server's own comes first, then those that signed it",
    );
  }
  return certificate;
}

/** Undefined for a key of a kind that only the listener knows. */
function isKeyOf(certificate: X509Certificate, key: string): boolean | undefined {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    return undefined;
  }
}

/**
 * A server that no client trusts is better than none: clocks are wrong more often than
 * certificates.
 */
function warnOfDates(
  { validFromDate, validToDate }: X509Certificate,
  { tlsCert, nowMs }: { readonly tlsCert: string; readonly nowMs: number },
): void {
  if (validFromDate.getTime() <= nowMs && nowMs < validToDate.getTime()) return;
  getLogger(["svc", "http"]).warn(
    "the certificate {file} of --tls-cert is valid from {from} to {to}, which is not now: clients will refuse it",
    { file: tlsCert, from: validFromDate.toISOString(), to: validToDate.toISOString() },
  );
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
