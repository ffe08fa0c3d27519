/** What a connection that is not HTTP/2 seems to be, and what its peer can read of us. */

import { utf8 } from "../base/bytes.ts";

export interface StrangerAnswer {
  /** For the log. */
  readonly what: string;
  /** undefined: nothing that we could say would be understood. */
  readonly bytes: Uint8Array | undefined;
}

const TLS_HANDSHAKE = 0x16;
const BODY = "This port takes gRPC, which is HTTP/2. OTLP over HTTP/1.1 has a port of its own: " +
  "POST /v1/logs and /v1/traces on the address of --bind.\n";

/**
 * What to tell a peer that does not speak HTTP/2, by the first bytes that it sent. `what` is for
 * the log, `bytes` for the peer.
 */
export function answerToStranger(firstBytes: Uint8Array): StrangerAnswer {
  if (firstBytes[0] === TLS_HANDSHAKE) {
    return {
      what: "it begins with a TLS handshake; send plain text, or set --tls-cert and --tls-key here",
      bytes: undefined,
    };
  }
  if (!/^[A-Z]{3,7} /.test(String.fromCharCode(...firstBytes))) {
    return { what: "it begins as no protocol that is known here", bytes: undefined };
  }
  return {
    what: "it is HTTP/1.1; OTLP over HTTP has a port of its own",
    bytes: utf8(
      "HTTP/1.1 505 HTTP Version Not Supported\r\ncontent-type: text/plain; charset=utf-8\r\n" +
        `content-length: ${utf8(BODY).byteLength}\r\nconnection: close\r\n\r\n${BODY}`,
    ),
  };
}
