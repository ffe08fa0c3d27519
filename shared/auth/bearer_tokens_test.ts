import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { bearerTokenOf, BearerTokens, TOKEN_CHARS_MAX, tokenDigest } from "./bearer_tokens.ts";

const READ: [authorization: string, token: string][] = [
  ["Bearer abc", "abc"],
  ["bearer abc", "abc"],
  ["BEARER   abc", "abc"],
  ["Bearer a.b-c_d~e+f/g==", "a.b-c_d~e+f/g=="],
  ["Bearer s3cret!#ü", "s3cret!#ü"],
];

for (const [authorization, token] of READ) {
  Deno.test({
    name: `bearerTokenOf ${authorization}`,
    fn: () => assert.equal(bearerTokenOf(authorization), token),
  });
}

const UNREAD: [authorization: string | null, reason: string][] = [
  [null, "token_missing"],
  ["", "token_malformed"],
  ["Bearer", "token_malformed"],
  ["Bearer ", "token_malformed"],
  ["Bearersecret", "token_malformed"],
  ["Basic c2VjcmV0", "token_malformed"],
  ["secret", "token_malformed"],
  ["Bearer secret secret", "token_malformed"],
  ["Bearer secret, Bearer other", "token_malformed"],
  ["Token secret", "token_malformed"],
  [`Bearer ${"secret".repeat(TOKEN_CHARS_MAX)}`, "token_malformed"],
];

for (const [authorization, reason] of UNREAD) {
  Deno.test({
    name: `bearerTokenOf refuses ${authorization?.slice(0, 40)} without repeating it`,
    fn: () => {
      try {
        bearerTokenOf(authorization);
      } catch (error) {
        assert.ok(isOperatingError(error, "unauthenticated"));
        assert.equal(error.reason, reason);
        assert.equal(error.message.includes("secret"), false);
        return;
      }
      assert.fail("read");
    },
  });
}

Deno.test({
  name: "bearerTokenOf tells a header that is too long as such",
  fn() {
    const longest = `Bearer ${"x".repeat(TOKEN_CHARS_MAX - 7)}`;
    assert.equal(bearerTokenOf(longest).length, TOKEN_CHARS_MAX - 7);
    assert.throws(() => bearerTokenOf(`${longest}x`), /of 16385 characters.*16384/);
  },
});

const LISTED = ["first", "second", "sécond-ü"];

const OFFERED: [token: string, accepted: boolean][] = [
  ["first", true],
  ["second", true],
  ["sécond-ü", true],
  ["third", false],
  ["First", false],
  ["firs", false],
  ["firstx", false],
  ["first,second", false],
  ["", false],
];

for (const [token, accepted] of OFFERED) {
  Deno.test({
    name: `BearerTokens ${accepted ? "accepts" : "refuses"} ${JSON.stringify(token)}`,
    fn: () => assert.equal(new BearerTokens(LISTED).accepts(tokenDigest(token)), accepted),
  });
}

Deno.test({
  name: "BearerTokens compares digests of equal length, so that no token's length shows",
  fn: () => {
    const lengths = ["", "a", "x".repeat(10_000)].map((token) => tokenDigest(token).byteLength);
    assert.deepEqual(lengths, [32, 32, 32]);
  },
});

for (const token of ["two words", "tab\t"]) {
  Deno.test({
    name: `BearerTokens takes no token that no header brings: ${JSON.stringify(token)}`,
    fn: () =>
      assert.throws(
        () => new BearerTokens(["good", token]),
        (error) =>
          isOperatingError(error, "invalid_argument") &&
          /token 2 of the list/.test(error.message) &&
          !error.message.includes(token),
      ),
  });
}
