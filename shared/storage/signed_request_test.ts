import assert from "node:assert/strict";
import { RequestSigner, sha256, type SignedRequest, type SigningScope } from "./signed_request.ts";

interface Case {
  readonly name: string;
  readonly scope: SigningScope;
  readonly request: SignedRequest;
  readonly date: string;
  readonly authorization: string;
}

const CASES: readonly Case[] = [
  {
    name: "a form, as the test suite of Signature Version 4 has it (post-x-www-form-urlencoded)",
    scope: {
      ...{ region: "us-east-1", service: "service" },
      credentials: {
        accessKeyId: "AKIDEXAMPLE",
        secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
      },
    },
    request: {
      method: "POST",
      url: new URL("https://example.amazonaws.com/"),
      headers: { "content-type": "application/x-www-form-urlencoded" },
      bodySha256: sha256("Param1=value1"),
      nowMs: Date.UTC(2015, 7, 30, 12, 36),
    },
    date: "20150830T123600Z",
    authorization:
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, " +
      "SignedHeaders=content-type;host;x-amz-date, " +
      "Signature=ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
  },
  {
    name: "a range of an object, as the documentation of S3 has it",
    scope: {
      ...{ region: "us-east-1", service: "s3" },
      credentials: {
        accessKeyId: "AKIAIOSFODNN7EXAMPLE",
        secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      },
    },
    request: {
      method: "GET",
      url: new URL("https://examplebucket.s3.amazonaws.com/test.txt"),
      headers: { range: "bytes=0-9", "x-amz-content-sha256": sha256("") },
      bodySha256: sha256(""),
      nowMs: Date.UTC(2013, 4, 24),
    },
    date: "20130524T000000Z",
    authorization: "AWS4-HMAC-SHA256 " +
      "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, " +
      "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, " +
      "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
  },
];

for (const { name, scope, request, date, authorization } of CASES) {
  Deno.test(`RequestSigner signs ${name}`, () => {
    const signer = new RequestSigner(scope);
    // The day's key is made once.
    for (let time = 0; time < 2; time += 1) {
      const headers = signer.headers(request);
      assert.equal(headers["x-amz-date"], date);
      assert.equal(headers["authorization"], authorization);
    }
  });
}

Deno.test("RequestSigner signs another day with another key", () => {
  const [{ scope, request, authorization }] = CASES as [Case];
  const signer = new RequestSigner(scope);
  signer.headers({ ...request, nowMs: request.nowMs + 86_400_000 });
  assert.equal(signer.headers(request)["authorization"], authorization);
});
