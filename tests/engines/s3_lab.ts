/**
 * A stack whose warehouse is in S3, with a service that gives out credentials: what engines read
 * there with credentials that the catalog hands them.
 */

import { S3Process } from "../../shared/testing/s3_process.ts";
import {
  committed,
  DAY_NS,
  type EngineStack,
  EXTREMES,
  record,
  send,
  START_NS,
  startEngineStack,
} from "./lab.ts";

export interface S3EngineStack extends EngineStack {
  /** Requests for credentials so far, each a form. */
  readonly asked: readonly URLSearchParams[];
  /** Variables with credentials, for engines that bring their own. */
  readonly environment: Readonly<Record<string, string>>;
}

export async function startS3EngineStack(): Promise<S3EngineStack> {
  await using starting = new AsyncDisposableStack();
  const s3 = starting.use(await S3Process.start());
  const asked: URLSearchParams[] = [];
  const sts = starting.use(Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      asked.push(new URLSearchParams(await request.text()));
      return new Response(assumedRole(s3.environment));
    },
  ));
  const lab = starting.use(
    await startEngineStack({
      ...s3.environment,
      SVC_WAREHOUSE_URL: "s3://warehouse/lake",
      SVC_ICEBERG_STS_URL: `http://127.0.0.1:${sts.addr.port}/`,
      SVC_ICEBERG_STS_ROLE: "arn:aws:iam::000000000000:role/engines",
    }),
  );
  await send(
    lab.stack,
    EXTREMES.map(([text, value], at) => record(START_NS + BigInt(at), text, { "user.id": value })),
  );
  await send(lab.stack, [record(START_NS + DAY_NS, "the next day")]);
  await committed(lab.stack);
  const all = starting.move();
  return {
    ...{ stack: lab.stack, address: lab.address, asked },
    environment: s3.environment,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** What a Security Token Service answers; the store of the tests knows one pair of keys. */
function assumedRole(environment: Readonly<Record<string, string>>): string {
  const elements = {
    AccessKeyId: environment["AWS_ACCESS_KEY_ID"],
    SecretAccessKey: environment["AWS_SECRET_ACCESS_KEY"],
    SessionToken: "a-session",
    Expiration: new Date(Date.now() + 3_600_000).toISOString(),
  };
  const credentials = Object.entries(elements).map(([name, text]) => `<${name}>${text}</${name}>`);
  return `<AssumeRoleResponse><AssumeRoleResult><Credentials>${credentials.join("")}</Credentials>
    </AssumeRoleResult></AssumeRoleResponse>`;
}
