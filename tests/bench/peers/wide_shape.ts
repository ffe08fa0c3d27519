/** Wide events: 60 attributes in eleven nested objects, of all types. */

import type { LogLine } from "./log_lines.ts";
import { hex32, mix, pick } from "./mix.ts";
import { resourceOf, severityOf, userOf } from "./services_shape.ts";
import { type AttributeMap, MARKS, type Shape, type TemplateRow } from "./shape.ts";

export function wideShape(lines: readonly LogLine[]): Shape {
  return {
    name: "wide",
    summary: "wide events: a log line, 60 attributes in nested objects, a trace",
    templateRows: 20_000,
    hasTrace: true,
    subject: {
      top: ["user", "id"],
      number: ["timing", "duration_ms"],
      lookup: "trace",
      newest: { service: "warehouse", severity: "ERROR" },
    },
    template: (index) => template(index, lines),
  };
}

function template(index: number, lines: readonly LogLine[]): TemplateRow {
  return {
    ...resourceOf(index),
    severity: severityOf(index),
    body: `${pick(lines, mix(index, 70)).text} req=${MARKS.id}`,
    attributes: attributesOf(index),
  };
}

function attributesOf(index: number): AttributeMap {
  const number = (salt: number, below: number) => mix(index, salt) % below;
  const one = (salt: number, ...choices: readonly string[]) => pick(choices, mix(index, salt));
  const yes = (salt: number) => number(salt, 4) === 0;
  const region = one(71, "eu-central", "eu-west", "us-east", "ap-south");
  const { service, host } = resourceOf(index);
  return {
    app: {
      name: service,
      version: `4.${number(72, 9)}.${number(73, 30)}`,
      build: hex32(number(74, 200)),
      tier: one(75, "web", "api", "batch"),
      canary: yes(76),
    },
    http: {
      request: {
        method: one(77, "GET", "GET", "POST", "PUT"),
        route: one(78, "/baskets/{id}", "/orders", "/search", "/login"),
        bytes: number(79, 20_000),
        host: one(80, "shop.example.org", "api.example.org"),
        scheme: "https",
      },
      response: {
        status_code: pick([200, 200, 200, 200, 302, 404, 500], mix(index, 81)),
        bytes: number(82, 400_000),
        cache: one(83, "hit", "miss", "bypass"),
        content_type: one(84, "application/json", "text/html"),
        ttl_secs: number(85, 600),
      },
    },
    user: {
      id: userOf(index),
      plan: one(86, "free", "team", "company"),
      locale: one(87, "de-DE", "en-GB", "en-US", "hi-IN", "pt-BR"),
      cohort: number(88, 100),
      verified: yes(89),
    },
    client: {
      address: `10.${number(90, 16)}.${number(91, 256)}.${number(92, 256)}`,
      os: one(93, "android", "ios", "linux", "macos", "windows"),
      browser: one(94, "chrome", "edge", "firefox", "safari"),
      asn: 64_512 + number(95, 900),
      country: one(96, "BR", "DE", "GB", "IN", "US"),
    },
    ...machineAttributes({ index, region, service, host }),
  };
}

/** The half that tells of machines, of stores and of times. */
function machineAttributes(
  { index, region, service, host }: {
    readonly index: number;
    readonly region: string;
    readonly service: string;
    readonly host: string;
  },
): AttributeMap {
  const number = (salt: number, below: number) => mix(index, salt) % below;
  const one = (salt: number, ...choices: readonly string[]) => pick(choices, mix(index, salt));
  const yes = (salt: number) => number(salt, 4) === 0;
  return {
    k8s: {
      namespace: one(101, "shop", "platform", "data"),
      pod: `${service}-${hex32(number(102, 300)).slice(3)}`,
      node: host,
      container: service,
      restarts: number(103, 5),
    },
    cloud: {
      provider: one(104, "aws", "gcp"),
      account: String(100_000 + number(105, 12)),
      region,
      zone: `${region}-${one(106, "a", "b", "c")}`,
      instance: `i-${hex32(mix(number(107, 400), 1))}`,
    },
    db: {
      system: one(108, "postgresql", "redis"),
      statement: hex32(mix(number(109, 500), 2)),
      rows: number(110, 1_000),
      pool: one(111, "read", "write"),
      retries: number(112, 3),
    },
    queue: {
      topic: one(113, "orders", "mails", "prices", "stock"),
      partition: number(114, 32),
      offset: number(115, 50_000_000),
      lag: number(116, 900),
      consumer: one(117, "billing", "delivery", "reports"),
    },
    flags: {
      new_basket: yes(118),
      dark_mode: yes(119),
      fast_search: yes(120),
      beta_prices: yes(121),
      short_login: yes(122),
    },
    timing: {
      duration_ms: MARKS.duration,
      auth_us: number(123, 9_000),
      db_us: number(124, 90_000),
      render_us: number(125, 40_000),
      queue_us: number(126, 5_000),
    },
    basket: {
      items: number(127, 12),
      cents: number(128, 90_000),
      currency: one(129, "BRL", "EUR", "GBP", "INR", "USD"),
      coupon: one(130, "", "", "AUTUMN", "FRIENDS"),
      steps: number(131, 9),
    },
  };
}
