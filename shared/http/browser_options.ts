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
    help:
      "Origins whose pages may send requests and read answers, comma-separated and exact, for example " +
      "https://shop.example; requests of any other origin's pages are refused with 403.",
  },
  allowedHosts: {
    kind: "list",
    flag: "allowed-hosts",
    env: "SVC_ALLOWED_HOSTS",
    placeholder: "NAMES",
    help:
      "Names, with or without a port, that requests may call this server by besides loopback names and, unless it " +
      "is bound to loopback, IP addresses; 403 for any other. Without one any name will do, but for a listener on " +
      "loopback that asks for no authentication.",
  },
} as const satisfies OptionTable;
