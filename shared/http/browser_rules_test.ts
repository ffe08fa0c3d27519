import assert from "node:assert/strict";
import { UsageError } from "../base/errors.ts";
import { parseOptions } from "../config/parse_options.ts";
import { BROWSER_OPTIONS } from "./browser_options.ts";
import { browserRulesOf, judgeSource, type Listener } from "./browser_rules.ts";

/** An open server on loopback. */
const LOCAL = { hostname: "127.0.0.1", isOpen: true };
/** An open server that others reach. */
const WIDE = { hostname: "0.0.0.0", isOpen: true };
const LISTED = ["--cors-origins", "https://shop.example,http://127.0.0.1:5173"];

interface Case {
  readonly what: string;
  readonly flags?: readonly string[];
  readonly listener?: Listener;
  readonly host?: string;
  readonly origin?: string;
  readonly site?: string;
  readonly isSecure?: boolean;
  /** The reason of a refusal otherwise. */
  readonly verdict: "own" | "shared" | "foreign_origin" | "foreign_host";
}

const HOSTS: readonly Case[] = [
  ...["localhost", "localhost:8089", "LOCALHOST:8089", "localhost.", "svc.localhost:1"],
  ...["127.0.0.1", "127.0.0.1:8089", "127.8.9.10", "[::1]", "[::1]:8089", ""],
].map((host) => ({ what: `loopback answers to ${host}`, host, verdict: "own" as const }));

const STRANGE_HOSTS: readonly Case[] = [
  ...["evil.example", "evil.example:8089", "127.0.0.1.evil.example", "localhost.evil.example"],
  ...["evillocalhost", "127.evil.example", "10.0.0.1:8089", "[2001:db8::1]:8089", "0.0.0.0:8089"],
  ...["127.0.0.1:8089@evil.example", "evil.example:", "x"],
].map((host) => ({
  what: `loopback does not answer to ${host}`,
  host,
  verdict: "foreign_host" as const,
}));

const CASES: readonly Case[] = [
  ...HOSTS,
  ...STRANGE_HOSTS,
  { what: "a program", verdict: "own" },
  { what: "an address typed in", site: "none", verdict: "own" },
  {
    what: "a page of this server",
    site: "same-origin",
    origin: "http://localhost:8089",
    verdict: "own",
  },
  { what: "a GET of a page of this server", site: "same-origin", verdict: "own" },
  {
    what: "one of an old browser, which says no site",
    origin: "http://localhost:8089",
    verdict: "own",
  },
  { what: "over TLS", isSecure: true, origin: "https://localhost:8089", verdict: "own" },
  {
    what: "over TLS that a proxy ends",
    listener: WIDE,
    host: "logs.example",
    site: "same-origin",
    origin: "https://logs.example",
    verdict: "own",
  },
  {
    what: "TLS without the browser's word",
    listener: WIDE,
    host: "logs.example",
    origin: "https://logs.example",
    verdict: "foreign_origin",
  },
  {
    what: "http to https",
    isSecure: true,
    origin: "http://localhost:8089",
    verdict: "foreign_origin",
  },
  { what: "another port", origin: "http://localhost:8090", verdict: "foreign_origin" },
  { what: "another site", origin: "https://evil.example", verdict: "foreign_origin" },
  { what: "another site's image", site: "cross-site", verdict: "foreign_origin" },
  { what: "another port's image", site: "same-site", verdict: "foreign_origin" },
  { what: "a word that is no site", site: "none, same-origin", verdict: "foreign_origin" },
  { what: "a page without an origin", origin: "null", verdict: "foreign_origin" },
  {
    what: "its own origin, sent round another site",
    site: "cross-site",
    origin: "http://localhost:8089",
    verdict: "foreign_origin",
  },
  {
    what: "another origin that says it is the same",
    site: "same-origin",
    origin: "https://evil.example",
    verdict: "foreign_origin",
  },
  {
    what: "a listed origin",
    flags: LISTED,
    site: "cross-site",
    origin: "https://shop.example",
    verdict: "shared",
  },
  {
    what: "a listed origin of the same site",
    flags: LISTED,
    site: "same-site",
    origin: "http://127.0.0.1:5173",
    verdict: "shared",
  },
  {
    what: "one that begins as a listed one",
    flags: LISTED,
    origin: "https://shop.example.evil.example",
    verdict: "foreign_origin",
  },
  {
    what: "a listed one's image, whose origin nobody says",
    flags: LISTED,
    site: "cross-site",
    verdict: "foreign_origin",
  },
  {
    what: "a listed origin under a name that is not",
    flags: LISTED,
    host: "evil.example",
    origin: "https://shop.example",
    verdict: "foreign_host",
  },
  { what: "any name where others reach it", listener: WIDE, host: "logs.example", verdict: "own" },
  {
    what: "any name where tokens are asked for",
    listener: { hostname: "127.0.0.1", isOpen: false },
    host: "logs.example",
    verdict: "own",
  },
  ...[
    ...["::1", "localhost", "127.0.0.9", "LocalHost"],
    ...["127.1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"],
  ].map((hostname): Case => ({
    what: `bound to ${hostname}`,
    listener: { hostname, isOpen: true },
    host: "evil.example",
    verdict: "foreign_host",
  })),
  ...["logs.example", "logs.example:8089", "LOGS.example", "localhost", "10.0.0.7:8089"].map((
    host,
  ): Case => ({
    what: `${host} where logs.example is listed`,
    flags: ["--allowed-hosts", "Logs.Example"],
    listener: WIDE,
    host,
    verdict: "own",
  })),
  {
    what: "another where logs.example is listed",
    flags: ["--allowed-hosts", "logs.example"],
    listener: WIDE,
    host: "evil.example",
    verdict: "foreign_host",
  },
  {
    what: "a listed name on loopback",
    flags: ["--allowed-hosts", "logs.example:80,10.0.0.1"],
    host: "logs.example:80",
    verdict: "own",
  },
  {
    what: "another port than the listed one",
    flags: ["--allowed-hosts", "logs.example:80"],
    host: "logs.example:81",
    verdict: "foreign_host",
  },
];

Deno.test({
  name: "judgeSource tells pages of other origins and names of other hosts from all else",
  fn() {
    for (
      const { what, flags = [], listener = LOCAL, isSecure = false, verdict, ...source } of CASES
    ) {
      const rules = browserRulesOf(parseOptions(BROWSER_OPTIONS, flags), listener);
      const found = judgeSource({
        origin: source.origin ?? null,
        site: source.site ?? null,
        host: () => source.host ?? "localhost:8089",
        isSecure: () => isSecure,
      }, rules);
      const told = found.kind === "refused" ? found.error.reason : found.kind;
      assert.equal(told, verdict, what);
      if (found.kind !== "refused") continue;
      assert.equal(found.error.httpStatus, 403, what);
      const option = verdict === "foreign_host" ? "--allowed-hosts" : "--cors-origins";
      assert.ok(found.error.message.includes(option), found.error.message);
      const named = verdict === "foreign_host" ? source.host : source.origin ?? source.site;
      assert.ok(found.error.message.includes(named ?? "?"), found.error.message);
    }
  },
});

Deno.test({
  name: "browserRulesOf refuses what is no origin and no host",
  fn() {
    const wrong = [
      ...["*", "null", "shop.example", "https://shop.example/", "https://*.shop.example"],
      ...[
        "https://shop.example:443",
        "http://shop.example:80",
        "https://a@shop.example",
        "https://",
      ],
    ];
    for (const origin of wrong) {
      const settings = parseOptions(BROWSER_OPTIONS, ["--cors-origins", origin]);
      assert.throws(() => browserRulesOf(settings, LOCAL), UsageError, origin);
    }
    for (const host of ["*", "*.example", "http://logs.example", "logs.example/", "a b", ":80"]) {
      const settings = parseOptions(BROWSER_OPTIONS, ["--allowed-hosts", host]);
      assert.throws(() => browserRulesOf(settings, LOCAL), UsageError, host);
    }
    const listed = ["https://Shop.example", "http://[::1]:3000", "chrome-extension://abcdef"];
    const settings = parseOptions(BROWSER_OPTIONS, ["--cors-origins", listed.join(",")]);
    assert.deepEqual([...browserRulesOf(settings, LOCAL).origins], [
      "https://shop.example",
      ...listed.slice(1),
    ]);
  },
});
