import assert from "node:assert/strict";
import { FORM_TYPE, signedHeaders } from "./signed_request.ts";

Deno.test({
  name: "a form is signed as the test suite of Signature Version 4 has it",
  fn() {
    // Its case `post-x-www-form-urlencoded`.
    const headers = signedHeaders({
      url: new URL("https://example.amazonaws.com/"),
      body: "Param1=value1",
      region: "us-east-1",
      service: "service",
      credentials: {
        accessKeyId: "AKIDEXAMPLE",
        secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
      },
      nowMs: Date.UTC(2015, 7, 30, 12, 36),
    });
    assert.equal(headers["content-type"], FORM_TYPE);
    assert.equal(headers["x-amz-date"], "20150830T123600Z");
    assert.equal(
      headers["authorization"],
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, " +
        "SignedHeaders=content-type;host;x-amz-date, " +
        "Signature=ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    );
  },
});
