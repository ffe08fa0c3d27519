/** How to send the first log: shown while the table has no row, and gone by itself. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { CopyButton } from "../view/copy_button.tsx";
import { table } from "./log_address.ts";

/** The ingest server's port, where nobody chose another. */
const INGEST_PORT = 8088;

const WAYS = ["curl", "SDK variables", "Collector"] as const;
type Way = typeof WAYS[number];

export function FirstLog(): JSX.Element {
  const way = useSignal<Way>("curl");
  const text = textOf(way.value);
  return (
    <section class="empty first-log" aria-live="polite">
      <h2>Nothing was sent yet</h2>
      <p>
        This page waits for the first row of <code>{table.value}</code>{" "}
        and shows it by itself. Send one to the ingest server:
      </p>
      <p class="ways" role="group" aria-label="Ways to send">
        {WAYS.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={way.value === one}
            onClick={() => way.value = one}
          >
            {one}
          </button>
        ))}
        <CopyButton text={() => text}>copy</CopyButton>
      </p>
      <pre tabIndex={0} aria-label={`How to send by ${way.value}`}>{text}</pre>
      <p class="quiet">
        The port {INGEST_PORT} is the ingest server's default. With tokens add the header{" "}
        <code>Authorization</code>.
      </p>
    </section>
  );
}

function textOf(way: Way): string {
  const host = `${location.protocol}//${location.hostname}:${INGEST_PORT}`;
  const hasIndex = table.value !== "events";
  switch (way) {
    case "curl":
      return `curl ${host}/v1/logs -H 'content-type: application/json' \\
${hasIndex ? `  -H 'x-svc-index: ${table.value}' \\\n` : ""}  -d '{"resourceLogs":[{
  "resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},
  "scopeLogs":[{"logRecords":[{"severityText":"INFO",
    "timeUnixNano":"'$(date +%s)'000000000",
    "body":{"stringValue":"hello"}}]}]}]}'`;
    case "SDK variables":
      return `export OTEL_EXPORTER_OTLP_ENDPOINT=${host}
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
${
        hasIndex
          ? `export OTEL_EXPORTER_OTLP_HEADERS=x-svc-index=${table.value}\n`
          : ""
      }export OTEL_SERVICE_NAME=shop`;
    case "Collector":
      return `exporters:
  otlphttp/svc:
    endpoint: ${host}
${hasIndex ? `    headers:\n      x-svc-index: ${table.value}\n` : ""}service:
  pipelines:
    logs:
      receivers: [otlp]
      exporters: [otlphttp/svc]`;
  }
}
