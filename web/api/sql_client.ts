/** Statements, and their answers. */

import { refusal, requestText } from "./request.ts";

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

/** Runs a statement. Errors: `RequestError`; the signal's reason. */
export async function askSql(
  query: string,
  { signal, rowsMax }: { readonly signal: AbortSignal; readonly rowsMax: number },
): Promise<Answer> {
  const { response, text } = await requestText("sql", {
    method: "POST",
    // A statement only reads.
    isRepeatable: true,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, limits: { max_rows_returned: rowsMax } }),
    signal,
  });
  const micros = Number(response.headers.get("x-svc-server-micros") ?? NaN);
  const serverMs = Number.isFinite(micros) ? micros / 1_000 : undefined;
  // 413 is an answer that was cut.
  if (response.ok || response.status === 413) {
    const body = parsed(text);
    if (Array.isArray(body?.["rows"])) return { ...body as unknown as Answer, serverMs };
  }
  throw refusal(text, response.status);
}

function parsed(text: string): { readonly [name: string]: Value } | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
