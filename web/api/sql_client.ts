/** Asks the query server that served this page. */

import { tokenHeader } from "./token.ts";

/** A value of an answer: docs/api/query.md#records-answer. */
export type Value = string | number | boolean | null | readonly Value[] | {
  readonly [name: string]: Value;
};

/** An answer of rows, and what it cost. */
export interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Value[])[];
  readonly cost: { readonly files_considered: number; readonly files_to_scan: number };
  readonly stats: {
    readonly served_by: string;
    readonly bytes_scanned: number;
    readonly rows_scanned: number;
  };
  /** Milliseconds that the server took; undefined where a proxy dropped the header. */
  readonly serverMs: number | undefined;
}

/** Why a statement has no answer; `message` is for people. */
export class RequestError extends Error {
  override readonly name = "RequestError";

  constructor(message: string, readonly status: number, options: { cause?: unknown } = {}) {
    super(message, options);
  }
}

/** The page lies beside the API, whatever path prefix a proxy puts before both. */
const API = new URL("../api/v1/", location.href);

/** Runs a statement. Errors: `RequestError`; the signal's reason. */
export async function askSql(
  query: string,
  { signal, rowsMax }: { readonly signal: AbortSignal; readonly rowsMax: number },
): Promise<Answer> {
  const response = await fetch(new URL("sql", API), {
    method: "POST",
    headers: { "content-type": "application/json", ...tokenHeader() },
    body: JSON.stringify({ query, limits: { max_rows_returned: rowsMax } }),
    signal,
  }).catch((cause) => {
    if (signal.aborted) throw signal.reason;
    throw new RequestError("The server cannot be reached. It is asked again by Enter.", 0, {
      cause,
    });
  });
  const text = await response.text();
  const micros = Number(response.headers.get("x-svc-server-micros") ?? NaN);
  const serverMs = Number.isFinite(micros) ? micros / 1_000 : undefined;
  // 413 is an answer that was cut.
  if (response.ok || response.status === 413) {
    const body = parsed(text);
    if (Array.isArray(body?.["rows"])) return { ...body as unknown as Answer, serverMs };
  }
  const told = parsed(text)?.["error"];
  throw new RequestError(
    typeof told === "string" ? told : `HTTP ${response.status}`,
    response.status,
  );
}

function parsed(text: string): { readonly [name: string]: Value } | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
