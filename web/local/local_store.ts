/**
 * Kept results in the browser's IndexedDB, as Arrow IPC bytes: they survive a reload, and belong to
 * this origin in this browser. IndexedDB works without HTTPS, too, which OPFS does not.
 */

/** What is known of a kept table without reading its rows. */
export interface KeptTable {
  /** In lower case: it is compared without case. */
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
  /** Unix milliseconds. */
  readonly keptMs: number;
  /** The statement that it is the result of. */
  readonly sql: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

const DATABASE = "svc.local";
const TABLES = "tables";
const BYTES = "bytes";

/** Returns the kept tables by their names. */
export async function listKept(): Promise<readonly KeptTable[]> {
  return await within([TABLES], "readonly", (store) => answerOf(store(TABLES).getAll()));
}

/** Returns the rows of a table; undefined where it is gone. */
export async function readKept(name: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const kept: Uint8Array<ArrayBuffer> | Blob | undefined = await within(
    [BYTES],
    "readonly",
    (store) => answerOf(store(BYTES).get(name)),
  );
  // Earlier versions kept a Blob.
  return kept instanceof Blob ? new Uint8Array(await kept.arrayBuffer()) : kept;
}

/** Keeps a table, in place of one of the same name. Errors: the browser's, when it has no room. */
export async function writeKept(table: KeptTable, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  await within([TABLES, BYTES], "readwrite", async (store) => {
    // No Blob: a private window of Safari refuses it.
    store(BYTES).put(bytes, table.name);
    await answerOf(store(TABLES).put(table, table.name));
  });
}

export async function removeKept(name: string): Promise<void> {
  await within([TABLES, BYTES], "readwrite", async (store) => {
    store(BYTES).delete(name);
    await answerOf(store(TABLES).delete(name));
  });
}

/** Runs `act` in a transaction, and waits until it is done. */
async function within<T>(
  names: readonly string[],
  mode: IDBTransactionMode,
  act: (store: (name: string) => IDBObjectStore) => Promise<T>,
): Promise<T> {
  const asked = indexedDB.open(DATABASE, 1);
  asked.onupgradeneeded = () => {
    for (const name of [TABLES, BYTES]) asked.result.createObjectStore(name);
  };
  const database = await answerOf(asked);
  try {
    const transaction = database.transaction([...names], mode);
    const done = Promise.withResolvers<void>();
    transaction.oncomplete = () => done.resolve();
    transaction.onabort = () => done.reject(transaction.error);
    const [result] = await Promise.all([
      act((name) => transaction.objectStore(name)),
      done.promise,
    ]);
    return result;
  } finally {
    database.close();
  }
}

function answerOf<T>(asked: IDBRequest<T>): Promise<T> {
  const answer = Promise.withResolvers<T>();
  asked.onsuccess = () => answer.resolve(asked.result);
  asked.onerror = () => answer.reject(asked.error);
  return answer.promise;
}
