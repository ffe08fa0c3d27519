import assert from "node:assert/strict";
import { configure, reset } from "@logtape/logtape";
import { SignJWT } from "jose";
import { isOperatingError, type OperatingError } from "../base/errors.ts";
import { type Clock, SystemClock } from "../os/clock.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { AUDIENCE, BAD_MOODS, FakeIssuer, makeKey } from "../testing/fake_issuer.ts";
import { until } from "../testing/until.ts";
import { tokenDigest } from "./bearer_tokens.ts";
import type { IssuerKeyLimits } from "./issuer_keys.ts";
import { OidcVerifier } from "./oidc.ts";

/** The deadline of fetches that are to be late. Fetches that are to succeed have the usual one. */
const DEADLINE_MS = 300;
/** What a loaded machine may add to a deadline. */
const SLACK_MS = 8_000;

class Bench implements AsyncDisposable {
  private constructor(readonly issuer: FakeIssuer, readonly verifier: OidcVerifier) {}

  static async start(limits: Partial<IssuerKeyLimits> = {}, clock: Clock = new SystemClock()) {
    const issuer = await FakeIssuer.start();
    const settings = { issuer: issuer.url, audience: AUDIENCE };
    const all = { retryMs: 20, unknownKeyMs: 0, ...limits };
    return new Bench(issuer, new OidcVerifier(settings, { clock, limits: all }));
  }

  verify(token: string) {
    return this.verifier.verify(token, tokenDigest(token).toHex());
  }

  /** Asks until it is let in: on a busy machine a fetch may be late. */
  async letIn(token: string): Promise<void> {
    await until(() => this.verify(token).then(() => true, () => false));
  }

  /** The error that `token` meets, which must come before the deadline of a fetch and some. */
  async refusal(token: string): Promise<OperatingError> {
    const begun = performance.now();
    const error = await this.verify(token).then(() => assert.fail("let in"), (error) => error);
    assert.ok(performance.now() - begun < DEADLINE_MS + SLACK_MS, "past the deadline");
    assert.ok(isOperatingError(error), String(error));
    assert.equal(String(error.stack).includes(token), false, "the token is in the error");
    return error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.verifier[Symbol.asyncDispose]();
    await this.issuer[Symbol.asyncDispose]();
  }
}

const now = () => Math.floor(Date.now() / 1_000);

const TAKEN: [name: string, token: (issuer: FakeIssuer) => Promise<string>][] = [
  ["a plain one", (issuer) => issuer.token()],
  ["one of several audiences", (issuer) => issuer.token({ aud: ["other", AUDIENCE] })],
  ["one that the clocks disagree about", (issuer) => issuer.token({ exp: now() - 10 })],
  ["one signed with RSA", async (issuer) => {
    await issuer.rotate("rsa", "RS256");
    return await issuer.token();
  }],
  ["one signed with EdDSA", async (issuer) => {
    await issuer.rotate("ed", "EdDSA");
    return await issuer.token();
  }],
  ["one without key id, of the second of two keys", async (issuer) => {
    issuer.keys = [await makeKey(""), await makeKey("")];
    return await issuer.token({}, issuer.keys[1]);
  }],
];

for (const [name, token] of TAKEN) {
  Deno.test({
    name: `OidcVerifier takes ${name}`,
    fn: async () => {
      await using bench = await Bench.start();
      const identity = await bench.verify(await token(bench.issuer));
      assert.equal(identity.subject, "sender-1");
      assert.equal(identity.claims.iss, bench.issuer.url);
    },
  });
}

Deno.test({
  name: "OidcVerifier tells subject, email and all claims",
  fn: async () => {
    await using bench = await Bench.start();
    const said = { sub: "s", email: "a@b.example", org: { name: "acme" } };
    const { subject, email, claims } = await bench.verify(await bench.issuer.token(said));
    assert.deepEqual([subject, email, claims.org], ["s", "a@b.example", { name: "acme" }]);
    const odd = await bench.verify(await bench.issuer.token({ email: ["x"] }));
    assert.equal(odd.email, undefined);
  },
});

const base64 = (value: unknown) =>
  new TextEncoder().encode(JSON.stringify(value)).toBase64({
    alphabet: "base64url",
    omitPadding: true,
  });

/** `at`th part of a token changed in its middle. */
function altered(token: string, at: number): string {
  return token.split(".").map((part, index) => {
    if (index !== at) return part;
    const middle = part.length >> 1;
    return part.slice(0, middle) + (part[middle] === "A" ? "B" : "A") + part.slice(middle + 1);
  }).join(".");
}

const REFUSED: [
  name: string,
  reason: string,
  token: (i: FakeIssuer) => Promise<string> | string,
][] = [
  ["for another audience", "token_claims", (i) => i.token({ aud: "other" })],
  [
    "for an audience that begins like ours",
    "token_claims",
    (i) => i.token({ aud: `${AUDIENCE}x` }),
  ],
  ["for no audience", "token_claims", (i) => i.token({ aud: undefined })],
  ["of another issuer", "token_claims", (i) => i.token({ iss: `${i.url}/` })],
  ["of no issuer", "token_claims", (i) => i.token({ iss: undefined })],
  ["that has expired", "token_expired", (i) => i.token({ exp: now() - 60 })],
  ["that never expires", "token_claims", (i) => i.token({ exp: undefined })],
  ["that expires at a text", "token_claims", (i) => i.token({ exp: "2099" })],
  ["that is not valid yet", "token_claims", (i) => i.token({ nbf: now() + 60 })],
  ["without subject", "token_claims", (i) => i.token({ sub: undefined })],
  ["with an empty subject", "token_invalid", (i) => i.token({ sub: "" })],
  ["with a changed payload", "token_invalid", async (i) => altered(await i.token(), 1)],
  ["with a changed signature", "token_invalid", async (i) => altered(await i.token(), 2)],
  ["without signature", "token_invalid", async (i) => (await i.token()).replace(/[^.]+$/, "")],
  [
    "of a foreign key under a known id",
    "token_invalid",
    async (i) => await i.token({}, { privateKey: (await makeKey("key-1")).privateKey }),
  ],
  ["of a foreign key", "token_unknown_key", async (i) => await i.token({}, await makeKey("alien"))],
  ["with algorithm none", "token_invalid", async (i) => {
    const [, payload] = (await i.token()).split(".");
    return `${base64({ alg: "none" })}.${payload}.`;
  }],
  ["signed by the public key as a secret", "token_invalid", (i) => {
    const secret = new TextEncoder().encode(JSON.stringify(i.keys[0]?.publicJwk));
    return new SignJWT({ aud: AUDIENCE, iss: i.url, sub: "x", exp: now() + 60 })
      .setProtectedHeader({ alg: "HS256", kid: "key-1" }).sign(secret);
  }],
  ["with its own key in the header", "token_unknown_key", async (i) => {
    const own = await makeKey("own");
    return await new SignJWT({ aud: AUDIENCE, iss: i.url, sub: "x", exp: now() + 60 })
      .setProtectedHeader({ alg: own.alg, kid: "own", jwk: own.publicJwk }).sign(own.privateKey);
  }],
  ["that is one word", "token_invalid", () => "word"],
  ["that is three words", "token_invalid", () => "a.b.c"],
  ["of five parts", "token_invalid", () => "a.b.c.d.e"],
];

for (const [name, reason, token] of REFUSED) {
  Deno.test({
    name: `OidcVerifier refuses a token ${name}`,
    fn: async () => {
      await using bench = await Bench.start();
      const error = await bench.refusal(await token(bench.issuer));
      assert.deepEqual([error.code, error.reason], ["unauthenticated", reason]);
      assert.match(error.message, /: (get a new token|have the issuer make a token for --oidc-)/);
    },
  });
}

Deno.test({
  name: "OidcVerifier takes a new key at once and the withdrawn one no more",
  fn: async () => {
    await using bench = await Bench.start();
    const old = await bench.issuer.token();
    await bench.verify(old);
    await bench.issuer.rotate("key-2");
    await bench.verify(old);
    await bench.verify(await bench.issuer.token());
    assert.equal((await bench.refusal(old)).reason, "token_unknown_key");
  },
});

Deno.test({
  name: "OidcVerifier fetches once for many, and for foreign keys once per cooldown",
  fn: async () => {
    await using bench = await Bench.start({ unknownKeyMs: 60_000 }, new FakeClock(Date.now()));
    const { issuer } = bench;
    const good = await issuer.token();
    await Promise.all(Array.from({ length: 100 }, () => bench.verify(good)));
    assert.equal(issuer.discoveries, 1);
    const foreign = await Promise.all(
      Array.from(
        { length: 50 },
        async (_, at) => issuer.token({ iat: now() - 60 }, await makeKey(`alien-${at}`)),
      ),
    );
    const reasons = await Promise.all(
      foreign.map(async (token) => (await bench.refusal(token)).reason),
    );
    assert.deepEqual(new Set(reasons), new Set(["token_unknown_key"]));
    assert.equal(issuer.discoveries, 1, "within the cooldown of the first fetch");
  },
});

Deno.test({
  name:
    "OidcVerifier answers 503 to a token of an unknown key that is younger than the keys, until they may be fetched again",
  fn: async () => {
    const clock = new FakeClock(Date.now());
    await using bench = await Bench.start({ unknownKeyMs: 5_000 }, clock);
    const { issuer } = bench;
    await bench.verify(await issuer.token());
    const fetchedSecs = Math.floor(clock.nowMs() / 1_000);
    await issuer.rotate("key-2");
    const young = await issuer.token({ iat: fetchedSecs + 1 });
    const { code, retryAfterSecs } = await bench.refusal(young);
    assert.deepEqual([code, retryAfterSecs], ["unavailable", 5]);
    for (const iat of [fetchedSecs - 1, undefined]) {
      assert.equal((await bench.refusal(await issuer.token({ iat }))).reason, "token_unknown_key");
    }
    await clock.advance(5_000);
    await bench.verify(young);
    const foreign = await issuer.token({ iat: fetchedSecs + 1 }, await makeKey("alien"));
    assert.equal((await bench.refusal(foreign)).reason, "token_unknown_key");
  },
});

for (const mood of BAD_MOODS) {
  Deno.test({
    name: `OidcVerifier answers 503 in time while the issuer is ${mood}, and recovers`,
    fn: async () => {
      await using bench = await Bench.start({ fetchMsMax: DEADLINE_MS });
      const token = await bench.issuer.token();
      bench.issuer.mood = mood;
      const errors = await Promise.all([token, "word"].map((token) => bench.refusal(token)));
      for (const error of errors) {
        assert.deepEqual([error.code, error.retryAfterSecs], ["unavailable", 2]);
      }
      bench.issuer.mood = "well";
      await bench.letIn(token);
      assert.equal((await bench.verify(token)).subject, "sender-1");
    },
  });

  Deno.test({
    name: `OidcVerifier goes on with known keys while the issuer is ${mood}, 503 for others`,
    fn: async () => {
      await using bench = await Bench.start({ fetchMsMax: DEADLINE_MS });
      await bench.letIn(await bench.issuer.token());
      bench.issuer.mood = mood;
      assert.equal((await bench.verify(await bench.issuer.token({ sub: "b" }))).subject, "b");
      const foreign = await bench.issuer.token({}, await makeKey("key-2"));
      assert.equal((await bench.refusal(foreign)).code, "unavailable");
      assert.equal((await bench.verify(await bench.issuer.token({ sub: "c" }))).subject, "c");
    },
  });
}

Deno.test({
  name: "OidcVerifier reads no more of a document than its bound",
  fn: async () => {
    await using bench = await Bench.start({ fetchMsMax: 60_000, documentBytesMax: 100_000 });
    const token = await bench.issuer.token();
    bench.issuer.mood = "endless";
    assert.equal((await bench.refusal(token)).code, "unavailable");
  },
});

Deno.test({
  name: "OidcVerifier answers 503 when nobody listens",
  fn: async () => {
    await using bench = await Bench.start();
    const token = await bench.issuer.token();
    await bench.issuer.leave();
    assert.equal((await bench.refusal(token)).code, "unavailable");
  },
});

Deno.test({
  name: "OidcVerifier logs what kept the issuer's keys away, not that fetch failed",
  fn: async () => {
    const logged: string[] = [];
    await configure({
      sinks: {
        logged: ({ properties: { why, meanwhile } }) => void logged.push(`${why}; ${meanwhile}`),
      },
      loggers: [
        { category: ["svc", "auth"], sinks: ["logged"] },
        { category: ["logtape", "meta"], sinks: [], lowestLevel: "error" },
      ],
    });
    try {
      await using bench = await Bench.start();
      await bench.issuer.leave();
      await bench.refusal(await bench.issuer.token());
      assert.match(logged.join(), /connect error.*answered 503/i);
      await using known = await Bench.start();
      await known.letIn(await known.issuer.token());
      await known.issuer.leave();
      await known.refusal(await known.issuer.token({}, await makeKey("other")));
      assert.match(logged.slice(1).join(), /connect error.*known ones stay in use/i);
    } finally {
      await reset();
    }
  },
});

Deno.test({
  name: "OidcVerifier learns of a withdrawn key by itself, and does not use keys of yesterday",
  fn: async () => {
    const clock = new FakeClock(Date.now());
    await using bench = await Bench.start({ refreshMs: 60_000, keysAgeMsMax: 600_000 }, clock);
    const { issuer, verifier } = bench;
    verifier.start();
    const nextYear = { exp: now() + 31_536_000 };
    const old = await issuer.token(nextYear);
    await bench.verify(old);
    await issuer.rotate("key-2");
    await clock.advance(60_000);
    await until(async () => await bench.verify(old).then(() => false, () => true));
    assert.equal((await bench.refusal(old)).reason, "token_unknown_key");

    const newer = await issuer.token(nextYear);
    await bench.verify(newer);
    issuer.mood = "failing";
    await clock.advance(540_000);
    await bench.verify(newer);
    await clock.advance(120_000);
    assert.equal((await bench.refusal(newer)).code, "unavailable");
  },
});

Deno.test({
  name: "OidcVerifier remembers a token no longer than it lives",
  fn: async () => {
    const clock = new FakeClock(Date.now());
    await using bench = await Bench.start({}, clock);
    const token = await bench.issuer.token({ exp: now() + 10 });
    await bench.verify(token);
    await bench.verify(token);
    await clock.advance(45_000);
    assert.equal((await bench.refusal(token)).reason, "token_expired");
  },
});
