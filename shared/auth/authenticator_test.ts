import assert from "node:assert/strict";
import { SystemClock } from "../os/clock.ts";
import { AUDIENCE, FakeIssuer } from "../testing/fake_issuer.ts";
import { Authenticator } from "./authenticator.ts";
import type { OidcSettings } from "./oidc.ts";

function authenticator(tokens: string[], oidc?: OidcSettings) {
  return new Authenticator({ tokens, oidc }, { clock: new SystemClock() });
}

Deno.test({
  name: "Authenticator in open mode takes anybody and reads no token",
  fn: async () => {
    await using open = authenticator([]);
    assert.equal(open.mode, "open");
    assert.deepEqual(await open.authenticate(null), {});
    assert.deepEqual(await open.authenticate("Basic x"), {});
  },
});

Deno.test({
  name: "Authenticator with tokens takes those alone and tells them apart by digest",
  fn: async () => {
    await using auth = authenticator(["one", "two"]);
    assert.equal(auth.mode, "tokens");
    const [one, two] = [
      await auth.authenticate("Bearer one"),
      await auth.authenticate("bearer two"),
    ];
    assert.match(one.tokenDigest ?? "", /^[0-9a-f]{64}$/);
    assert.notEqual(one.tokenDigest, two.tokenDigest);
    assert.equal(one.identity, undefined);
    const unknown = { code: "unauthenticated", reason: "token_unknown" };
    await assert.rejects(auth.authenticate("Bearer three"), unknown);
    await assert.rejects(auth.authenticate(null), { reason: "token_missing" });
  },
});

Deno.test({
  name: "Authenticator with OIDC and tokens takes OIDC's alone",
  fn: async () => {
    await using issuer = await FakeIssuer.start();
    await using auth = authenticator(["one"], { issuer: issuer.url, audience: AUDIENCE });
    assert.equal(auth.mode, "oidc");
    const caller = await auth.authenticate(`Bearer ${await issuer.token()}`);
    assert.equal(caller.identity?.subject, "sender-1");
    await assert.rejects(auth.authenticate("Bearer one"), { code: "unauthenticated" });
  },
});
