/**
 * `svc dev`: ingest, compactor and query as three processes on this machine, each under its own
 * permission set (`permissions.ts`), with one merged log. Ends when asked, or when one of them
 * ends. Needs the source tree.
 */

import { messageOf, OperatingError } from "../../shared/base/errors.ts";
import { DATA_DIR_OPTION, WAREHOUSE_OPTIONS } from "../../shared/config/process_options.ts";
import type { OptionTable, Settings } from "../../shared/config/options.ts";
import { BROWSER_OPTIONS } from "../../shared/http/browser_options.ts";
import { type Clock, SystemClock } from "../../shared/os/clock.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { defineCommand } from "../command.ts";
import type { Console } from "../console.ts";
import { makeDataFolders } from "../data_folders.ts";
import { checkAddresses, type WantedAddress } from "../dev/check_addresses.ts";
import { childEnvironment } from "../dev/child_environment.ts";
import { claimFolder, requireFreeFolder } from "../dev/data_folder.ts";
import { clientUrl, greeting } from "../dev/greeting.ts";
import { listenPatiently } from "../dev/patient_end.ts";
import {
  type ChildEnd,
  mayStartProcesses,
  ProcessGroup,
  runsFromSource,
} from "../dev/process_group.ts";
import { seedDemo } from "../dev/seed_demo.ts";
import { processArguments, runtimeEnvironment } from "../permissions.ts";
import { type Role, ROLES } from "../role_places.ts";

const OPTIONS = {
  dataDir: DATA_DIR_OPTION,
  warehouseUrl: {
    ...WAREHOUSE_OPTIONS.warehouseUrl,
    help:
      "Warehouse as s3://bucket/path, with credentials in AWS_* variables, or as a file:// URL; " +
      "without it the folder warehouse of the data directory.",
  },
  catalogUri: WAREHOUSE_OPTIONS.catalogUri,
  ingestBind: bindOption("ingest-bind", "127.0.0.1:8088", "HTTP address of the ingest server."),
  otlpGrpcListen: bindOption(
    "otlp-grpc-listen",
    "127.0.0.1:4317",
    "OTLP/gRPC address of the ingest server.",
  ),
  disableOtlpGrpc: {
    kind: "switch",
    flag: "disable-otlp-grpc",
    help: "Do not listen for OTLP/gRPC.",
  },
  queryBind: bindOption("query-bind", "127.0.0.1:8089", "HTTP address of the query server."),
  pgListen: bindOption(
    "pg-listen",
    "127.0.0.1:5433",
    "Address of PostgreSQL's protocol of the query server; `none` for no listener.",
  ),
  ingestMetricsBind: bindOption(
    "ingest-metrics-bind",
    "127.0.0.1:9100",
    "Metrics address of the ingest server.",
  ),
  compactorMetricsBind: bindOption(
    "compactor-metrics-bind",
    "127.0.0.1:9101",
    "Metrics address of the compactor.",
  ),
  queryMetricsBind: bindOption(
    "query-metrics-bind",
    "127.0.0.1:9105",
    "Metrics address of the query server.",
  ),
  ...BROWSER_OPTIONS,
  seedDemo: {
    kind: "switch",
    flag: "seed-demo",
    help: "Add ten synthetic events a second.",
  },
} as const satisfies OptionTable;

type DevSettings = Settings<typeof OPTIONS>;

/** Cold start: the runtime may have to compile every module first. */
const READY_MS_MAX = 60_000;
const READY_POLL_MS = 50;
/** Each of them waits 10 s for what it has begun, and then still has to close. */
const STOP_MS_MAX = 20_000;

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    if (!runsFromSource()) throw needsSource();
    if (!await mayStartProcesses()) throw needsRun();
    // This comes first: a stack that runs there may have the addresses, too.
    await requireFreeFolder(settings.dataDir);
    checkAddresses(wantedAddresses(settings));
    const env = childEnvironment();
    const roleArgs = argumentsOf(settings);
    await makeDataFolders(settings.dataDir, { args: roleArgs.query, env });
    using _claim = await claimFolder(settings.dataDir);
    const note = (text: string) => tell(console, text);
    const group = new ProcessGroup({ writeLine: note, nameWidth: nameWidth() });
    using end = listenPatiently();
    end.insisted.then(() => group.kill());
    for (const role of ROLES) {
      group.start({
        name: role,
        args: processArguments(role, settings.dataDir, roleArgs[role], env),
        env: { ...runtimeEnvironment(role), ...env },
      });
    }
    const over = new AbortController();
    let ended: ChildEnd | void;
    let killed: string[];
    try {
      ended = await Promise.race([
        group.firstEnd,
        end.asked,
        greet(over.signal, settings, console),
      ]);
    } finally {
      over.abort();
      note("stopping");
      killed = await group.stop(STOP_MS_MAX);
    }
    if (ended !== undefined) throw endedEarly(ended);
    if (killed.length > 0) throw hadToKill(killed);
  },
});

/** The log goes nowhere once the terminal is gone; the processes still have to be stopped. */
function tell(console: Console, line: string): void {
  console.notes.write(`${line}\n`).catch(() => {});
}

function bindOption<const F extends string, const D extends string>(
  flag: F,
  address: D,
  help: string,
) {
  return { kind: "text", flag, placeholder: "HOST:PORT", default: address, help } as const;
}

function nameWidth(): number {
  return Math.max(...ROLES.map((role) => role.length));
}

function wantedAddresses(settings: DevSettings): WantedAddress[] {
  return [
    { address: settings.ingestBind, option: "--ingest-bind" },
    ...(settings.disableOtlpGrpc
      ? []
      : [{ address: settings.otlpGrpcListen, option: "--otlp-grpc-listen" }]),
    { address: settings.queryBind, option: "--query-bind" },
    ...(settings.pgListen === "none"
      ? []
      : [{ address: settings.pgListen, option: "--pg-listen" }]),
    { address: settings.ingestMetricsBind, option: "--ingest-metrics-bind" },
    { address: settings.compactorMetricsBind, option: "--compactor-metrics-bind" },
    { address: settings.queryMetricsBind, option: "--query-metrics-bind" },
  ];
}

function argumentsOf(settings: DevSettings): Readonly<Record<Role, readonly string[]>> {
  const { warehouseUrl, catalogUri, corsOrigins, allowedHosts } = settings;
  const every = [
    "--end-with-stdin",
    ...(warehouseUrl === undefined ? [] : ["--warehouse-url", warehouseUrl]),
    ...(catalogUri === undefined ? [] : ["--catalog-uri", catalogUri]),
    ...(corsOrigins.length === 0 ? [] : ["--cors-origins", corsOrigins.join(",")]),
    ...(allowedHosts.length === 0 ? [] : ["--allowed-hosts", allowedHosts.join(",")]),
  ];
  return {
    ingest: [
      ...every,
      ...["--bind", settings.ingestBind, "--metrics-bind", settings.ingestMetricsBind],
      ...(settings.disableOtlpGrpc
        ? ["--disable-otlp-grpc"]
        : ["--otlp-grpc-listen", settings.otlpGrpcListen]),
      ...["--compat-at-root", "--query-url", clientUrl(settings.queryBind)],
    ],
    compactor: [...every, "--metrics-bind", settings.compactorMetricsBind],
    query: [
      ...every,
      ...["--bind", settings.queryBind, "--metrics-bind", settings.queryMetricsBind],
      ...["--pg-listen", settings.pgListen],
      ...["--ingest-metrics-url", `${clientUrl(settings.ingestMetricsBind)}/metrics`],
      ...["--compactor-metrics-url", `${clientUrl(settings.compactorMetricsBind)}/metrics`],
    ],
  };
}

/**
 * Waits until the roles are ready, greets, and sends demo events if wanted; returns only when
 * aborted.
 */
async function greet(
  over: AbortSignal,
  settings: DevSettings,
  console: Console,
): Promise<void> {
  const clock = new SystemClock();
  const ingestUrl = clientUrl(settings.ingestBind);
  const queryUrl = clientUrl(settings.queryBind);
  await untilReady([
    `${ingestUrl}/readyz`,
    `${queryUrl}/readyz`,
    `${clientUrl(settings.compactorMetricsBind)}/healthz`,
  ], { clock, over });
  if (over.aborted) return;
  const grpc = settings.disableOtlpGrpc ? {} : { otlpGrpc: settings.otlpGrpcListen };
  const runner = "npx -y deno@2.9.6";
  const pg = settings.pgListen === "none" ? {} : { pg: settings.pgListen };
  await console.output.write(greeting({ ingestUrl, queryUrl, ...grpc, ...pg }, { runner }));
  if (!settings.seedDemo) return await untilAborted(over);
  const seed = Math.floor(new SystemRandom().float() * 2 ** 32);
  const note = (text: string) => tell(console, `${"dev".padEnd(nameWidth())} | ${text}`);
  await seedDemo({ ingestUrl, clock, seed, signal: over, note });
}

async function untilReady(
  urls: readonly string[],
  { clock, over }: { clock: Clock; over: AbortSignal },
): Promise<void> {
  const deadlineMs = clock.monotonicMs() + READY_MS_MAX;
  for (const url of urls) {
    for (;;) {
      const failure = await refusal(url, over);
      if (failure === undefined || over.aborted) break;
      if (clock.monotonicMs() > deadlineMs) {
        throw new OperatingError(
          "unavailable",
          `Cannot bring the stack up: ${url} was not ready within ${
            READY_MS_MAX / 1000
          } s: ${failure}`,
        );
      }
      await clock.sleep(READY_POLL_MS, { signal: over }).catch(() => {});
    }
  }
}

async function refusal(url: string, over: AbortSignal): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: over });
    const text = await response.text();
    return response.ok ? undefined : `${response.status} ${text}`;
  } catch (error) {
    return messageOf(error);
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true })
  );
}

function needsSource(): OperatingError {
  return new OperatingError(
    "unimplemented",
    "Cannot run the stack from a compiled binary: run the binaries of the roles, or `deno task dev` in the source tree",
  );
}

function needsRun(): OperatingError {
  return new OperatingError(
    "permission_denied",
    "Cannot start the processes of the stack: this process may not run others; use `deno task dev`, " +
      "or grant --allow-run",
  );
}

function endedEarly({ name, code, signal, lastLine }: ChildEnd): OperatingError {
  const how = signal === undefined ? `with status ${code}` : `by ${signal}`;
  const said = lastLine === "" ? "it said nothing" : `it last said: ${lastLine}`;
  return new OperatingError(
    "unavailable",
    `Cannot keep the stack up: ${name} ended ${how}; ${said}`,
  );
}

function hadToKill(names: readonly string[]): OperatingError {
  return new OperatingError(
    "deadline_exceeded",
    `Cannot stop ${names.join(" and ")} in order: still running after ${
      STOP_MS_MAX / 1000
    } s, killed`,
  );
}
