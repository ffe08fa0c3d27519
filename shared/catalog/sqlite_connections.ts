/**
 * The connections of this thread to SQLite files that may be closed between two calls, by file.
 *
 * SQLite opens a file that it may not write to for reading only. All connections of a process to
 * the file then share that, until the last one is closed. So who finds that it may not write closes
 * all of them, and each owner connects anew when it next needs to.
 */

import { DatabaseSync, type DatabaseSyncOptions } from "node:sqlite";

const CONNECTIONS = new Map<string, Set<DatabaseSync>>();

/** A connection that is closed by `closeConnections`, too: ask `isOpen` before each use. */
export function openConnection(path: string, options: DatabaseSyncOptions): DatabaseSync {
  const db = new DatabaseSync(path, options);
  const others = [...CONNECTIONS.get(path) ?? []].filter(({ isOpen }) => isOpen);
  CONNECTIONS.set(path, new Set([...others, db]));
  return db;
}

/** Closes all connections to the file. */
export function closeConnections(path: string): void {
  for (const db of CONNECTIONS.get(path) ?? []) if (db.isOpen) db.close();
  CONNECTIONS.delete(path);
}
