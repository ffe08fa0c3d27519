/** Records of services as an OpenTelemetry SDK sends them: a log line and seven attributes. */

import type { LogLine } from "./log_lines.ts";
import { mix, pick } from "./mix.ts";
import { MARKS, RESOURCE_ROWS, type Severity, type Shape, type TemplateRow } from "./shape.ts";

const SERVICES = [
  ...["accounts", "adverts", "baskets", "billing", "catalogue", "coupons", "delivery", "emails"],
  ...["fraud", "gateway", "identity", "invoices", "ledger", "orders", "payments", "pricing"],
  ...["ratings", "returns", "stock", "warehouse"],
];
const ROUTES = ["/baskets/{id}", "/login", "/orders", "/orders/{id}", "/search", "/healthz"];
const METHODS = ["GET", "GET", "GET", "POST", "PUT", "DELETE"];
const STATUSES = [200, 200, 200, 200, 200, 201, 204, 302, 404, 500];
const USERS = 10_000;
const THREADS = 50;
const HOSTS_PER_SERVICE = 5;
const SALT = { service: 31, host: 32, line: 33, route: 34, method: 35, status: 36, user: 37 };
const THREAD_SALT = 38;
const SEVERITY_SALT = 39;

export function servicesShape(lines: readonly LogLine[]): Shape {
  return {
    name: "services",
    summary: "OTLP records of 20 services: a log line, seven attributes, a trace",
    templateRows: 100_000,
    hasTrace: true,
    subject: {
      top: ["user.id"],
      number: ["duration_ms"],
      lookup: "trace",
      newest: { service: "warehouse", severity: "ERROR" },
    },
    template: (index) => template(index, lines),
  };
}

function template(index: number, lines: readonly LogLine[]): TemplateRow {
  const line = pick(lines, mix(index, SALT.line));
  const user = userOf(index);
  return {
    ...resourceOf(index),
    severity: severityOf(index),
    body: `${line.text} req=${MARKS.id} user=${user}`,
    attributes: {
      "log.source": line.system,
      "http.method": pick(METHODS, mix(index, SALT.method)),
      "http.route": pick(ROUTES, mix(index, SALT.route)),
      "http.status_code": pick(STATUSES, mix(index, SALT.status)),
      "user.id": user,
      "thread.name": `worker-${mix(index, THREAD_SALT) % THREADS}`,
      "duration_ms": MARKS.duration,
    },
  };
}

export function userOf(index: number): string {
  return `u${String(mix(index, SALT.user) % USERS).padStart(5, "0")}`;
}

/** Later services have more rows: the last one has 39 times those of the first. */
export function resourceOf(index: number): { service: string; host: string } {
  const group = Math.floor(index / RESOURCE_ROWS);
  const nth = Math.floor(Math.sqrt(mix(group, SALT.service) % SERVICES.length ** 2));
  const host = nth * HOSTS_PER_SERVICE + mix(group, SALT.host) % HOSTS_PER_SERVICE;
  return {
    service: pick(SERVICES, nth),
    host: `node-${String(host).padStart(3, "0")}.internal`,
  };
}

/** 8 of 100 rows are for debugging, 15 warn and 5 are errors. */
export function severityOf(index: number): Severity {
  const share = mix(index, SEVERITY_SALT) % 100;
  if (share < 8) return { number: 5, text: "DEBUG" };
  if (share < 80) return { number: 9, text: "INFO" };
  return share < 95 ? { number: 13, text: "WARN" } : { number: 17, text: "ERROR" };
}
