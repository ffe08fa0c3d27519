/**
 * What `svc dev` prints when the stack is up: a log to send and the query that finds it, ready to
 * paste.
 */

export interface Addresses {
  /** Base addresses as clients reach them. */
  readonly ingestUrl: string;
  readonly queryUrl: string;
  /** `host:port` of OTLP/gRPC; absent when it is off. */
  readonly otlpGrpc?: string;
  /** `host:port` of PostgreSQL's protocol; absent when it is off. */
  readonly pg?: string;
}

/** The addresses that `svc sql` asks by default. */
const QUERY_URL_DEFAULTS = ["http://127.0.0.1:8089", "http://localhost:8089"];

/** What `svc dev` says once the stack is up. */
export function greeting(addresses: Addresses, options: { runner: string }): string {
  const { ingestUrl, queryUrl, otlpGrpc, pg } = addresses;
  const grpc = otlpGrpc === undefined ? "" : `, OTLP/gRPC at ${otlpGrpc}`;
  const endpoint = QUERY_URL_DEFAULTS.includes(queryUrl) ? "" : ` --endpoint ${queryUrl}`;
  return [
    "",
    `The stack is up: ingest at ${ingestUrl}${grpc}, SQL at ${queryUrl}. Ctrl-C stops it.`,
    "",
    `Look at it: ${queryUrl}/ui/`,
    "",
    ...(pg === undefined ? [] : [`Ask with PostgreSQL's clients: ${psqlCommand(pg)}`, ""]),
    "Send a log:",
    "",
    `  curl -sS ${ingestUrl}/v1/logs -H 'content-type: application/json' -d '${helloLog()}'`,
    "",
    "Find it:",
    "",
    `  ${options.runner} task -q svc sql${endpoint} "SELECT timestamp, source, raw FROM events ` +
    `WHERE source = 'hello'"`,
    "",
    "",
  ].join("\n");
}

function psqlCommand(pg: string): string {
  const { hostname, port } = new URL(clientUrl(pg));
  return `psql -h ${hostname.replace(/^\[(.*)\]$/, "$1")} -p ${port}`;
}

/** `--bind` as a client reaches it: an address that stands for every interface is this machine. */
export function clientUrl(bind: string): string {
  const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(bind) ?? [];
  if (host === "" || host === "0.0.0.0") return `http://127.0.0.1:${port}`;
  return host === "[::]" ? `http://[::1]:${port}` : `http://${host}:${port}`;
}

/**
 * OTLP/JSON with a time that the shell fills in; whole seconds, as not every `date` knows finer
 * ones.
 */
function helloLog(): string {
  const time = `"'$(date +%s)000000000'"`;
  return `{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name",` +
    `"value":{"stringValue":"hello"}}]},"scopeLogs":[{"logRecords":[{"timeUnixNano":${time},` +
    `"severityText":"INFO","body":{"stringValue":"hello from curl"}}]}]}]}`;
}
