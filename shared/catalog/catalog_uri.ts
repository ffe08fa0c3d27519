/**
 * What `--catalog-uri` and `SVC_CATALOG_URI` may say: `sqlite://<path>?mode=rwc`, `sqlite:<path>`,
 * a plain path, or `postgres://user:password@host:port/database`.
 */

import { UsageError } from "../base/errors.ts";

/** Whether the URI names a PostgreSQL database, and not a file. */
export function isPostgresUri(uri: string): boolean {
  return /^postgres(ql)?:\/\//i.test(uri);
}

/**
 * Path of the SQLite file that `uri` names, as written: `sqlite:///a/b.db` is `/a/b.db`,
 * `sqlite://b.db` and `b.db` are relative. Errors: `invalid_argument`. The text may hold a
 * password, so only its scheme is repeated.
 */
export function sqlitePathOf(uri: string): string {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(uri)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== "sqlite") {
    throw new UsageError(
      `Cannot use a catalog with scheme ${
        JSON.stringify(scheme)
      }: give postgres://user:password@host/database, sqlite://<path>?mode=rwc or a path`,
      { reason: "unsupported_catalog" },
    );
  }
  const rest = scheme === undefined ? uri : uri.slice("sqlite:".length).replace(/^\/\//, "");
  const [path = "", query] = scheme === undefined ? [rest] : rest.split("?", 2);
  checkMode(query);
  if (path === "") {
    throw new UsageError("Cannot use an empty catalog path: name a file");
  }
  // SQLAlchemy writes an absolute path with four slashes.
  return path.replace(/^\/\/+/, "/");
}

function checkMode(query: string | undefined): void {
  for (const [name, value] of new URLSearchParams(query)) {
    // The role decides whether it writes. So each of SQLite's modes for a file is accepted and none
    // is obeyed.
    if (name === "mode" && ["ro", "rw", "rwc"].includes(value)) continue;
    throw new UsageError(
      `Cannot use catalog parameter ${JSON.stringify(`${name}=${value}`)}: only mode=rwc is known`,
    );
  }
}
