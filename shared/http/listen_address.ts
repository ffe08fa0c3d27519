/**
 * `host:port` texts of listeners. IPv6 hosts stand in brackets. Port 0 asks the system for a free
 * one.
 */

import { UsageError } from "../base/errors.ts";

/** Where a listener is; port 0 lets the system choose. */
export interface ListenAddress {
  readonly hostname: string;
  readonly port: number;
}

/**
 * Reads `0.0.0.0:8088`, `[::1]:0` or `:8088` (every interface). `what` names the option in the
 * error.
 */
export function parseListenAddress(text: string, what = "listen address"): ListenAddress {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]\s/]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new UsageError(
      `cannot use ${
        JSON.stringify(text)
      } as ${what}: write host:port with a port from 0 to 65535, ` +
        `for example 0.0.0.0:8088 or [::1]:8088`,
    );
  }
  return { hostname: match[1] ?? (match[2] || "0.0.0.0"), port };
}

/** `host:port`; an IPv6 address is in brackets. */
export function formatListenAddress(address: ListenAddress): string {
  const { hostname, port } = address;
  return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}
