/**
 * A sender that makes very many small calls over one connection, as `@grpc/grpc-js` frames them.
 * Each call has a frame for the fields, one for the message, an empty one for the end. None of it
 * may look like an attack.
 */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { Client, credentials, type ServiceError } from "@grpc/grpc-js";
import { encodeLogsRequest } from "../../proto/otlp_logs.ts";
import { LOGS_EXPORT } from "./grpc_call.ts";
import { RunningIngest } from "./running_ingest.ts";

const CALLS = 10_000;
const CALLS_AT_A_TIME = 100;
const MESSAGE = Buffer.from(encodeLogsRequest({
  resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "small" } }] }] }],
}));

Deno.test({
  name: `grpc-js makes ${CALLS} small calls over one connection, ${CALLS_AT_A_TIME} at a time`,
  fn: async () => {
    await using ingest = await RunningIngest.start();
    const client = new Client(ingest.grpcTarget, credentials.createInsecure());
    let left = CALLS;
    const sender = async () => {
      while (left-- > 0) await exportOnce(client);
    };
    try {
      await Promise.all(Array.from({ length: CALLS_AT_A_TIME }, sender));
    } finally {
      client.close();
    }
    assert.equal(await ingest.metric('svc_ingest_events_total{endpoint="grpc_logs"}'), CALLS);
  },
});

function exportOnce(client: Client): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error: ServiceError | null) => error === null ? resolve() : reject(error);
    client.makeUnaryRequest(LOGS_EXPORT, (bytes: Buffer) => bytes, (bytes) => bytes, MESSAGE, done);
  });
}
