/** Something that is taken away, and comes back. */

import { POSTGRES } from "../../shared/testing/postgres_process.ts";

export interface Outage {
  readonly what: string;
  begin(): unknown;
  end(): unknown;
}

/** A service that dies and comes back with its data. */
export function killed(
  what: string,
  service: { kill(): Promise<void>; resume(): Promise<void> },
): Outage {
  return { what: `${what} killed`, begin: () => service.kill(), end: () => service.resume() };
}

/** Why there is no PostgreSQL to kill; undefined where there is one. */
export function missingPostgres(): string | undefined {
  return POSTGRES === undefined ? "npm has no PostgreSQL for this platform" : undefined;
}
