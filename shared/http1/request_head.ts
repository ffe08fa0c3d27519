/**
 * The head of an HTTP/1.1 request: RFC 9112, sections 2 to 6, read strictly.
 *
 * A head that two readers could take differently is refused, since a proxy in front of this server
 * may be the other reader (request smuggling). Refused are a bare LF, folded lines, a space before
 * a colon, a length that comes twice or beside `Transfer-Encoding`, and any coding but `chunked`.
 * `Upgrade` is ignored, as RFC 9110 section 7.8 lets a server do: the response comes over HTTP/1.1.
 */

import { Buffer } from "node:buffer";
import { HTTP1_LIMITS } from "./limits.ts";
import { malformed, Refusal } from "./refusal.ts";

/** Name in small letters, and value. */
export type HeaderField = readonly [name: string, value: string];

/** Bytes of the body, or `chunked`. */
export type Framing = number | "chunked";

export interface RequestHead {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly host: string;
  readonly fields: readonly HeaderField[];
  /** Undefined: there is no body. */
  readonly framing: Framing | undefined;
  /** Whether the client can read `Transfer-Encoding: chunked`, and sends no more after `close`. */
  readonly version: "1.0" | "1.1";
  readonly keepsAlive: boolean;
  readonly expectsContinue: boolean;
}

const LF = 0x0a;
const CR = 0x0d;

/** How far a head was looked through that has not come whole: offsets from its first byte. */
export interface HeadProgress {
  lineStart: number;
  searched: number;
}

/**
 * Length of the head that `bytes` begin with, its empty line included, or -1 if that has not come.
 * Errors: a `Refusal` for a line that ends in LF alone.
 */
export function headLength(bytes: Uint8Array, progress: HeadProgress): number {
  for (;;) {
    const at = bytes.indexOf(LF, progress.searched);
    if (at < 0) {
      progress.searched = bytes.byteLength;
      return -1;
    }
    if (bytes[at - 1] !== CR) throw malformed("a line ends in LF alone; each ends in CR LF");
    if (at === progress.lineStart + 1) return at + 1;
    progress.lineStart = progress.searched = at + 1;
  }
}

const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}) ([!-~\x80-\xff]+) HTTP\/(\d\.\d)$/;
const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Controls, CR without LF, and lines that go on. */
// deno-lint-ignore no-control-regex
const FORBIDDEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|\n[ \t]/;
const HOST = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=%]*|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/;
/** They ask for a tunnel, or for what was sent to be told. */
const REFUSED_METHODS = new Set(["CONNECT", "TRACE", "TRACK"]);

/** Reads a whole head, with its empty line. Errors: a `Refusal`. */
export function parseHead(bytes: Uint8Array): RequestHead {
  const text = latin1(bytes);
  const lines = text.split("\r\n");
  const line = REQUEST_LINE.exec(lines[0] ?? "");
  if (line === null || FORBIDDEN.test(text)) throw refusedHead(lines[0] ?? "", text);
  const [, method = "", target = "", version] = line;
  if (method === "PRI" && version === "2.0") {
    throw new Refusal("this address speaks HTTP/1.1 alone", { status: 505, reason: "http2" });
  }
  if (version !== "1.1" && version !== "1.0") {
    throw new Refusal(`this server does not speak HTTP/${version}, but HTTP/1.1`, {
      status: 505,
      reason: "not_supported",
    });
  }
  if (REFUSED_METHODS.has(method)) {
    throw new Refusal(`there is no ${method} here`, { status: 501, reason: "not_supported" });
  }
  // The last two are the empty line and what is behind it.
  const fields = parseFields(lines.slice(1, -2));
  const special = specialFields(fields, version);
  return { method, version, fields, ...special, ...parseTarget(target, special.host) };
}

function refusedHead(line: string, text: string): Refusal {
  if (/\n[ \t]/.test(text)) return malformed("a header field goes on in the next line");
  if (FORBIDDEN.test(text)) return malformed("the head holds a control character");
  return malformed(`its first line is ${JSON.stringify(line.slice(0, 80))}: it is no request`);
}

function parseFields(lines: readonly string[]): HeaderField[] {
  if (lines.length > HTTP1_LIMITS.fieldsMax) {
    throw new Refusal(
      `the request has ${lines.length} header fields, at most ${HTTP1_LIMITS.fieldsMax} are taken`,
      { status: 431, reason: "head_too_large" },
    );
  }
  return lines.map((line) => {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon);
    if (colon < 0 || !FIELD_NAME.test(name)) {
      throw malformed(`the line ${JSON.stringify(line.slice(0, 80))} is no header field`);
    }
    return [name.toLowerCase(), trimmed(line, colon + 1)];
  });
}

/** From `start` on, without spaces and tabs around it: `trim` would take no-break spaces, too. */
function trimmed(line: string, start: number): string {
  let end = line.length;
  while (start < end && isBlank(line.charCodeAt(start))) start += 1;
  while (end > start && isBlank(line.charCodeAt(end - 1))) end -= 1;
  return line.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

type Special = Pick<RequestHead, "host" | "framing" | "keepsAlive" | "expectsContinue">;

/** What the connection itself must know of the fields. */
function specialFields(fields: readonly HeaderField[], version: "1.0" | "1.1"): Special {
  let host: string | undefined;
  let length: number | undefined;
  let isChunked = false;
  let keepsAlive = version === "1.1";
  let expectsContinue = false;
  for (const [name, value] of fields) {
    switch (name) {
      case "host":
        if (host !== undefined || !isHost(value)) throw malformed("there must be one host");
        host = value;
        break;
      case "content-length":
        if (length !== undefined || !/^\d{1,15}$/.test(value)) {
          throw malformed("its content-length is no number, or comes twice");
        }
        length = Number(value);
        break;
      case "transfer-encoding":
        if (isChunked || version === "1.0") throw malformed("its transfer-encoding is ambiguous");
        requireChunked(value);
        isChunked = true;
        break;
      case "connection":
        keepsAlive = saysKeepAlive(value, keepsAlive);
        break;
      case "expect":
        expectsContinue = version === "1.1";
        if (value.toLowerCase() !== "100-continue") {
          throw new Refusal(`it expects ${JSON.stringify(value.slice(0, 80))}`, {
            status: 417,
            reason: "not_supported",
          });
        }
        break;
    }
  }
  if (host === undefined && version === "1.1") throw malformed("it has no host");
  if (isChunked && length !== undefined) {
    throw malformed("it has both a content-length and a transfer-encoding");
  }
  const framing = isChunked ? "chunked" : length === 0 ? undefined : length;
  return { host: host ?? "", framing, keepsAlive, expectsContinue };
}

/** The one of the last request: most senders use one name. */
let lastHost = "";

/** Whether handlers can make a URL of it. */
function isHost(text: string): boolean {
  if (text === lastHost || text === "") return true;
  if (!HOST.test(text) || !URL.canParse(`http://${text}`)) return false;
  lastHost = text;
  return true;
}

function requireChunked(value: string): void {
  if (value.toLowerCase() === "chunked") return;
  throw new Refusal(`the transfer-encoding ${JSON.stringify(value.slice(0, 80))} is not chunked`, {
    status: /,[ \t]*chunked$/i.test(value) ? 501 : 400,
    reason: "malformed",
  });
}

function saysKeepAlive(value: string, before: boolean): boolean {
  const options = value.toLowerCase().split(",").map((option) => option.trim());
  if (options.includes("close")) return false;
  return options.includes("keep-alive") || before;
}

/** Origin form, absolute form (as proxies are asked) or `*`; raw bytes above ASCII are escaped. */
function parseTarget(target: string, host: string): Pick<RequestHead, "target" | "host"> {
  // deno-lint-ignore no-control-regex
  const escaped = /[^\x00-\x7f]/.test(target)
    ? target.replaceAll(/[\x80-\xff]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)
    : target;
  if (escaped.includes("#")) throw malformed("its target has a fragment");
  if (escaped.startsWith("/")) return { target: escaped, host };
  if (escaped === "*") return { target: "/*", host };
  const absolute = /^https?:\/\/([^/?]*)([^]*)$/i.exec(escaped);
  const [, authority = "", rest = ""] = absolute ?? [];
  if (absolute === null || authority === "" || !isHost(authority)) {
    throw malformed("its target is neither a path nor a URL of http");
  }
  // RFC 9112, section 3.2.2: the target's own wins over the field.
  return { target: rest.startsWith("/") ? rest : `/${rest}`, host: authority };
}

/** Arguments of a call; a head is shorter in most cases. */
/** One character a byte: what header fields are to their readers, and what never fails. */
function latin1({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("latin1");
}
