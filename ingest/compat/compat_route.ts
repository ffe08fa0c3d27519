/** One row of the search-engine surface's table, and what its handler gets. */

import type { Peer } from "../admission.ts";
import type { Endpoint } from "../routes.ts";

export interface CompatContext {
  /** What follows the question mark. */
  readonly query: string;
  readonly peer: Peer;
  /** Groups of the path's pattern, percent-decoded; undefined where a group matched nothing. */
  readonly names: readonly (string | undefined)[];
  /** Who asks; empty where the handler asks that itself. */
  readonly tenant: string;
}

export interface CompatRoute {
  /** What follows the prefix. */
  readonly path: RegExp;
  readonly methods: readonly string[];
  /** Without the prefix: always, or with `--compat-at-root`. */
  readonly atRoot: "always" | "option";
  readonly endpoint: Endpoint;
  /**
   * What a request passes before its handler: the whole access check, the check without its rate,
   * or what the handler checks itself.
   */
  readonly access: "admit" | "identify" | "own";
  readonly handle: (
    request: Request,
    context: CompatContext,
  ) => Response | Promise<Response>;
}

export const READ_METHODS = ["GET", "HEAD"] as const;

/** What is asked beside rows. */
export const ASKED = {
  methods: READ_METHODS,
  atRoot: "always",
  endpoint: "compat",
  access: "identify",
} as const;

/** What brings a body of its own. */
export const PUT_ROUTE = {
  methods: ["PUT", "POST"],
  atRoot: "always",
  endpoint: "compat",
  access: "admit",
} as const;
