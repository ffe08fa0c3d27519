import { rejects } from "node:assert/strict";
import { UsageError } from "../../shared/base/errors.ts";
import { openDistribution } from "./open_distribution.ts";

type Parts = Parameters<typeof openDistribution>[1];

Deno.test({
  name: "openDistribution peers without a coordinator token end the start where callers need one",
  async fn() {
    for (const names of [{ peers: ["10.0.0.2:8089"] }, { peers: [], peersDns: "query:8089" }]) {
      const opened = openDistribution({
        ...{ peersDns: undefined, coordinatorToken: undefined, peerTlsCa: undefined },
        ...{ distributeBytesMin: 0, ...names },
      }, { auth: "tokens" } as unknown as Parts);
      await rejects(
        opened,
        (error) => error instanceof UsageError && error.message.includes("--coordinator-token"),
      );
    }
  },
});
