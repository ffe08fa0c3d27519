/**
 * A self-signed certificate for 127.0.0.1 and localhost, made anew for each test: DER by hand, keys
 * by WebCrypto.
 */

import type { TlsIdentity } from "../http/listener.ts";

const OID = {
  commonName: [0x55, 0x04, 0x03],
  subjectAltName: [0x55, 0x1d, 0x11],
  ecdsaWithSha256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
} as const;

const TAG = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  sequence: 0x30,
  set: 0x31,
  version: 0xa0,
  extensions: 0xa3,
  dnsName: 0x82,
  ipAddress: 0x87,
} as const;

const VALID_MS = 86_400_000;

export async function selfSigned(): Promise<TlsIdentity> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const body = certificateBody(bytesOf(await crypto.subtle.exportKey("spki", keys.publicKey)));
  const signature = bytesOf(await crypto.subtle.sign(algorithm, keys.privateKey, body));
  const certificate = der(
    TAG.sequence,
    body,
    SIGNATURE_ALGORITHM,
    der(TAG.bitString, Uint8Array.of(0), signatureDer(signature)),
  );
  const key = bytesOf(await crypto.subtle.exportKey("pkcs8", keys.privateKey));
  return { cert: pem("CERTIFICATE", certificate), key: pem("PRIVATE KEY", key) };
}

const SIGNATURE_ALGORITHM = der(TAG.sequence, der(TAG.oid, Uint8Array.from(OID.ecdsaWithSha256)));

function certificateBody(publicKey: Uint8Array): Uint8Array<ArrayBuffer> {
  const name = der(
    TAG.sequence,
    der(
      TAG.set,
      der(
        TAG.sequence,
        der(TAG.oid, Uint8Array.from(OID.commonName)),
        der(TAG.utf8, ascii("localhost")),
      ),
    ),
  );
  const names = der(
    TAG.sequence,
    der(TAG.dnsName, ascii("localhost")),
    der(TAG.ipAddress, Uint8Array.of(127, 0, 0, 1)),
  );
  const nowMs = Date.now();
  return der(
    TAG.sequence,
    der(TAG.version, der(TAG.integer, Uint8Array.of(2))),
    der(TAG.integer, Uint8Array.of(1, ...crypto.getRandomValues(new Uint8Array(8)))),
    SIGNATURE_ALGORITHM,
    name,
    der(TAG.sequence, utcTime(nowMs - VALID_MS), utcTime(nowMs + VALID_MS)),
    name,
    publicKey,
    der(
      TAG.extensions,
      der(
        TAG.sequence,
        der(
          TAG.sequence,
          der(TAG.oid, Uint8Array.from(OID.subjectAltName)),
          der(TAG.octetString, names),
        ),
      ),
    ),
  );
}

/** WebCrypto signs as two numbers side by side, certificates want a sequence of them. */
function signatureDer(raw: Uint8Array): Uint8Array {
  const half = raw.byteLength / 2;
  return der(TAG.sequence, positive(raw.subarray(0, half)), positive(raw.subarray(half)));
}

function positive(number: Uint8Array): Uint8Array {
  const first = number.findIndex((byte) => byte !== 0);
  const digits = number.subarray(first);
  return der(TAG.integer, Uint8Array.from((digits[0] ?? 0) < 0x80 ? [] : [0]), digits);
}

function utcTime(ms: number): Uint8Array {
  const digits = new Date(ms).toISOString().replace(/\D/g, "").slice(2, 14);
  return der(TAG.utcTime, ascii(`${digits}Z`));
}

/** Tag, length, contents; up to 64 KiB. */
function der(tag: number, ...contents: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const length = contents.reduce((sum, part) => sum + part.byteLength, 0);
  const head = length < 0x80
    ? [tag, length]
    : length < 0x100
    ? [tag, 0x81, length]
    : [tag, 0x82, length >> 8, length & 0xff];
  return Uint8Array.from([head, ...contents.map((part) => [...part])].flat());
}

function ascii(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function bytesOf(buffer: ArrayBuffer): Uint8Array {
  return new Uint8Array(buffer);
}

function pem(label: string, bytes: Uint8Array): string {
  const lines = bytes.toBase64().match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
