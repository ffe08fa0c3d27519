import assert from "node:assert/strict";
import { isOperatingError } from "../../shared/base/errors.ts";
import { FakeClock } from "../../shared/testing/fake_clock.ts";
import { policyOf, VendedCredentials } from "./vended_credentials.ts";

const NOW_MS = Date.UTC(2026, 10, 26);
const LOCATION = "s3://logs/lake/svc/events-0f8f";
const HOUR_MS = 3_600_000;
const READER = { writes: false, roleArn: "arn:aws:iam::1:role/reader" };

function answer(number: number, expiresMs: number): string {
  return `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>
    <Credentials><AccessKeyId>key ${number}</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>
    <SessionToken>token</SessionToken>
    <Expiration>${new Date(expiresMs).toISOString()}</Expiration></Credentials>
    </AssumeRoleResult></AssumeRoleResponse>`;
}

/** A service whose answers are counted; with `status` it refuses. */
function lab({ status = 200, text }: { status?: number; text?: string } = {}) {
  const clock = new FakeClock(NOW_MS);
  const asked: { readonly headers: Headers; readonly form: URLSearchParams }[] = [];
  const vended = new VendedCredentials({
    ...{ stsUrl: "https://sts.example/", clock, ...READER },
    access: {
      region: "eu-1",
      credentials: { accessKeyId: "own", secretAccessKey: "hidden", sessionToken: "mine" },
    },
    fetch: (_url, init) => {
      asked.push({
        headers: new Headers(init?.headers),
        form: new URLSearchParams(String(init?.body)),
      });
      const body = text ?? answer(asked.length, clock.nowMs() + HOUR_MS);
      return Promise.resolve(new Response(body, { status }));
    },
  });
  return { clock, asked, vended };
}

Deno.test({
  name: "credentials are asked for one table, and handed out again for half of their life",
  async fn() {
    const { clock, asked, vended } = lab();
    assert.deepEqual(await vended.for(LOCATION), {
      "s3.access-key-id": "key 1",
      "s3.secret-access-key": "secret",
      "s3.session-token": "token",
      "s3.session-token-expires-at-ms": String(NOW_MS + HOUR_MS),
    });
    await clock.advance(HOUR_MS / 2);
    assert.equal((await vended.for(LOCATION))["s3.access-key-id"], "key 1");
    await clock.advance(1);
    assert.equal((await vended.for(LOCATION))["s3.access-key-id"], "key 2");
    assert.equal((await vended.for(`${LOCATION}b`))["s3.access-key-id"], "key 3");
    const [first] = asked;
    assert.equal(first?.form.get("Action"), "AssumeRole");
    assert.equal(first?.form.get("RoleArn"), "arn:aws:iam::1:role/reader");
    assert.equal(first?.form.get("RoleSessionName"), "svc-events-0f8f");
    assert.deepEqual(JSON.parse(first?.form.get("Policy") ?? ""), policyOf(LOCATION, READER));
    assert.match(
      first?.headers.get("authorization") ?? "",
      /Credential=own\/20261126\/eu-1\/sts\//,
    );
    assert.equal(first?.headers.get("x-amz-security-token"), "mine");
  },
});

Deno.test({
  name: "a policy names the table's folder alone, and nothing that removes",
  fn() {
    const actionsOf = (writes: boolean) => {
      const { Statement } = policyOf(LOCATION, { ...READER, writes }) as {
        Statement: readonly { Action: readonly string[]; Resource: readonly string[] }[];
      };
      assert.deepEqual(Statement.map(({ Resource }) => Resource), [
        ["arn:aws:s3:::logs/lake/svc/events-0f8f/*"],
        ["arn:aws:s3:::logs"],
      ]);
      return Statement.flatMap(({ Action }) => Action);
    };
    assert.deepEqual(actionsOf(false), ["s3:GetObject", "s3:ListBucket"]);
    assert.deepEqual(
      actionsOf(true),
      ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload", "s3:ListBucket"],
    );
  },
});

Deno.test({
  name: "a policy names resources in the role's partition",
  fn() {
    for (
      const [roleArn, place] of [
        ["arn:aws-cn:iam::1:role/reader", "arn:aws-cn:s3:::logs"],
        ["arn:aws-us-gov:iam::1:role/reader", "arn:aws-us-gov:s3:::logs"],
        ["arn:minio:iam:::role/reader", "arn:aws:s3:::logs"],
      ] as const
    ) {
      const text = JSON.stringify(policyOf(LOCATION, { writes: true, roleArn }));
      const places = text.match(/arn:[^"/]*/g);
      assert.deepEqual(places, [place, place]);
    }
  },
});

Deno.test({
  name: "a service that refuses, or answers something else, is named, and asked again",
  async fn() {
    for (
      const [given, says] of [
        [{ status: 403, text: "<Error><Message>not you</Message></Error>" }, /403 not you/],
        [{ text: "<html>" }, /no Expiration/],
      ] as const
    ) {
      const { asked, vended } = lab(given);
      for (const _ of [1, 2]) {
        await assert.rejects(vended.for(LOCATION), (error: unknown) => {
          assert.ok(isOperatingError(error, "unavailable"));
          assert.equal(error.reason, "sts_failed");
          assert.match(error.message, says);
          assert.doesNotMatch(error.message, /hidden|mine/);
          return true;
        });
      }
      assert.equal(asked.length, 2);
    }
  },
});
