/**
 * Which web pages may reach a server, and by which names: the same two options at every listener of
 * every role.
 */

import type { OptionTable } from "../config/options.ts";

export const BROWSER_OPTIONS = {
  corsOrigins: {
    kind: "list",
    flag: "cors-origins",
    env: "SVC_CORS_ORIGINS",
    placeholder: "ORIGINS",
    help: "Origins whose pages may send requests and read responses, comma-separated and exact, " +
      "for example https://shop.example. Requests from pages of other origins are refused " +
      "with 403.",
  },
  allowedHosts: {
    kind: "list",
    flag: "allowed-hosts",
    env: "SVC_ALLOWED_HOSTS",
    placeholder: "NAMES",
    help: "Host names, with or without a port, that requests may use for this server; others " +
      "are refused with 403. Loopback names are always allowed, and IP addresses unless the " +
      "server listens on loopback. When not given, every name is allowed, except on a " +
      "loopback listener without authentication.",
  },
} as const satisfies OptionTable;
