import { strictEqual } from "node:assert/strict";
import { S3Process } from "./s3_process.ts";

Deno.test({
  name: "S3Process: a write that its server refuses leaves no object that a later one would meet",
  async fn() {
    await using s3 = await S3Process.start();
    const put = async () => {
      const response = await fetch(`${s3.url}/warehouse/one`, {
        method: "PUT",
        headers: {
          "if-none-match": "*",
          // Its day is not the server's, like after a jump of the sender's clock.
          authorization: "AWS4-HMAC-SHA256 Credential=S3RVER/20200101/us-east-1/s3/aws4_request," +
            "SignedHeaders=host;x-amz-date,Signature=00",
          "x-amz-date": "20200101T000000Z",
          "x-amz-content-sha256": "UNSIGNED-PAYLOAD",
        },
        body: "1",
      });
      await response.body?.cancel();
      return response.status;
    };
    strictEqual(await put(), 403);
    strictEqual(await put(), 403);
  },
});
