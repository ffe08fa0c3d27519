/**
 * What a browser says of where a request comes from, judged: pure, over three header fields.
 *
 * A browser sends requests that any page asks for. `Origin` and `Sec-Fetch-Site` say which page it
 * was, and no page can change them. `Host` holds the name in the address bar: so it shows a name
 * that was pointed at this machine after its page was loaded (DNS rebinding). Programs send none of
 * the first two. BROWSERS.md has the rules.
 */

import { OperatingError, UsageError } from "../base/errors.ts";
import type { Settings } from "../config/options.ts";
import type { BROWSER_OPTIONS } from "./browser_options.ts";

export type BrowserSettings = Settings<typeof BROWSER_OPTIONS>;

export interface BrowserRules {
  /** Lower-case, as browsers write them. */
  readonly origins: ReadonlySet<string>;
  /** Undefined: any name will do. */
  readonly hosts: HostRules | undefined;
}

interface HostRules {
  /** Lower-case, with or without a port. */
  readonly names: ReadonlySet<string>;
  /**
   * A name is what rebinding needs, so an address is safe; a listener on loopback has no use for
   * others than its own.
   */
  readonly takesAddresses: boolean;
}

export interface Listener {
  /** What it is bound to. */
  readonly hostname: string;
  /** Open mode: every caller is let in, since there are no tokens and no issuer. */
  readonly isOpen: boolean;
}

/** Where a request says it comes from. */
export interface RequestSource {
  readonly origin: string | null;
  /** `Sec-Fetch-Site`. */
  readonly site: string | null;
  /** Asked for only where it matters. */
  host(): string;
  /** The scheme is https. */
  isSecure(): boolean;
}

export type Verdict =
  /** No page, or one of this server's own origin. */
  | { readonly kind: "own" }
  /** A page of an origin that is allowed. */
  | { readonly kind: "shared"; readonly origin: string }
  | { readonly kind: "refused"; readonly error: OperatingError };

/** The rules of one listener. Errors: `invalid_argument` for what is no origin or no host. */
export function browserRulesOf(settings: BrowserSettings, listener: Listener): BrowserRules {
  const { hostname, isOpen } = listener;
  const origins = new Set(settings.corsOrigins.map(requireOrigin));
  const names = new Set(settings.allowedHosts.map(requireHost));
  const isPrivate = isOpen && isLoopbackName(canonicalHost(hostname));
  const hosts = isPrivate || names.size > 0 ? { names, takesAddresses: !isPrivate } : undefined;
  return { origins, hosts };
}

const OWN: Verdict = { kind: "own" };

/**
 * Whether the source of a request may be answered: this server's own page or a program, a listed
 * origin, or neither.
 */
export function judgeSource(source: RequestSource, { origins, hosts }: BrowserRules): Verdict {
  if (hosts !== undefined) {
    const host = source.host();
    if (!isHostAllowed(host.toLowerCase(), hosts)) return refused(foreignHost(host));
  }
  const { origin, site } = source;
  const isOtherSite = site !== null && site !== "same-origin" && site !== "none";
  if (origin === null) return isOtherSite ? refused(foreignSite(site)) : OWN;
  if (origins.has(origin)) return { kind: "shared", origin };
  return !isOtherSite && isOwnOrigin(origin, source) ? OWN : refused(foreignOrigin(origin));
}

/**
 * A proxy may end TLS in front of this server: the browser's own word is needed to take https for
 * http.
 */
function isOwnOrigin(origin: string, source: RequestSource): boolean {
  const host = source.host().toLowerCase();
  if (origin === `${source.isSecure() ? "https" : "http"}://${host}`) return true;
  return source.site === "same-origin" && origin === `https://${host}`;
}

/** `host`: lower-case, with or without a port. */
function isHostAllowed(host: string, { names, takesAddresses }: HostRules): boolean {
  // HTTP/1.0, which no browser speaks.
  if (host === "") return true;
  const name = host.replace(/:\d{0,5}$/, "");
  if (isLoopbackName(name) || names.has(name) || names.has(host)) return true;
  return takesAddresses && isAddress(name);
}

/** Writes a host as browsers do: `127.1` is `127.0.0.1`, `0:0:0:0:0:0:0:1` is `[::1]`. */
function canonicalHost(hostname: string): string {
  const bracketed = hostname.includes(":") && !hostname.startsWith("[");
  const url = `http://${bracketed ? `[${hostname}]` : hostname}/`;
  return URL.canParse(url) ? new URL(url).hostname : hostname.toLowerCase();
}

/** 127.0.0.0/8 inside IPv6. */
const MAPPED_LOOPBACK = /^\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]$/;

/** A dot at the end only says that a name is whole. */
function isLoopbackName(name: string): boolean {
  const bare = name.endsWith(".") ? name.slice(0, -1) : name;
  return bare === "localhost" || bare.endsWith(".localhost") || bare === "[::1]" ||
    MAPPED_LOOPBACK.test(bare) || (bare.startsWith("127.") && isAddress(bare));
}

function isAddress(name: string): boolean {
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(name) || /^\[[0-9a-f:.]+\]$/.test(name);
}

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/;

function requireOrigin(text: string): string {
  const origin = text.toLowerCase();
  const isOrigin = ORIGIN.test(origin) && (!origin.startsWith("http") || isExact(origin));
  if (isOrigin) return origin;
  throw new UsageError(
    `Cannot allow origin ${
      quoted(text)
    } of --cors-origins: give each as browsers write it, scheme, host and a port ` +
      "that is not the scheme's own, for example https://shop.example; there are no patterns",
  );
}

/** Nothing to leave out, as the port of the scheme. */
function isExact(origin: string): boolean {
  return URL.canParse(origin) && new URL(origin).origin === origin;
}

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/;

function requireHost(text: string): string {
  const host = text.toLowerCase();
  if (HOST.test(host)) return host;
  throw new UsageError(
    `Cannot answer to ${quoted(text)} of --allowed-hosts: give a name or name:port, for example ` +
      "logs.example or logs.example:8089; there are no patterns",
  );
}

function refused(error: OperatingError): Verdict {
  return { kind: "refused", error };
}

function foreignOrigin(origin: string): OperatingError {
  return new OperatingError(
    "permission_denied",
    `Cannot take a request of a page of ${
      quoted(origin)
    }: it is not this server's origin; to let its pages in, ` +
      "list it in --cors-origins",
    { reason: "foreign_origin" },
  );
}

/**
 * The error for requests whose origin the browser does not tell, such as those of images and links.
 */
function foreignSite(site: string): OperatingError {
  return new OperatingError(
    "permission_denied",
    `Cannot take a request that another site's page made (Sec-Fetch-Site ${
      quoted(site)
    }, no Origin): open the address ` +
      "by itself, or list the page's origin in --cors-origins and ask with fetch() in mode cors",
    { reason: "foreign_origin" },
  );
}

function foreignHost(host: string): OperatingError {
  return new OperatingError(
    "permission_denied",
    `Cannot answer as ${
      quoted(host)
    }: this server is not known by that name; call it by localhost or 127.0.0.1 where ` +
      "it is on this machine, or list the name in --allowed-hosts",
    { reason: "foreign_host" },
  );
}

const QUOTED_CHARS_MAX = 200;

/** A client's text in an error: quoted and cut. */
function quoted(text: string): string {
  return JSON.stringify(
    text.length <= QUOTED_CHARS_MAX ? text : `${text.slice(0, QUOTED_CHARS_MAX)}…`,
  );
}
