/**
 * Prebuilt OTLP protobuf bodies for load: log records of some 320 bytes with six attributes,
 * written with a plain protobuf writer so that nothing under test makes its own input.
 * Deterministic.
 */

import protobuf from "protobufjs";

const SERVICES = ["checkout", "cart", "payment", "search", "frontend"];
const PATHS = ["/api/cart", "/api/checkout", "/api/search?q=shoes", "/healthz", "/api/items/8731"];

export interface BodyOptions {
  readonly records: number;
  /** Unix nanoseconds of the first record; the others follow, a microsecond apart. */
  readonly startNs: bigint;
  /** Number of the first record; also its attribute `seq`. */
  readonly first?: number;
}

/** One `ExportLogsServiceRequest` of one resource and one scope. */
export function otlpLogsBody(options: BodyOptions): Uint8Array<ArrayBuffer> {
  const { records, startNs, first = 0 } = options;
  const writer = new protobuf.Writer();
  writer.uint32(0x0a).fork(); // resource_logs
  writer.uint32(0x0a).fork(); // resource
  attribute(writer, 0x0a, "service.name", SERVICES[first % SERVICES.length] ?? "");
  attribute(writer, 0x0a, "host.name", `node-${first % 17}.example.internal`);
  writer.ldelim();
  writer.uint32(0x12).fork(); // scope_logs
  writer.uint32(0x0a).fork().uint32(0x0a).string("bench.logger").ldelim(); // scope.name
  for (let i = 0; i < records; i++) record(writer, first + i, startNs + BigInt(i) * 1_000n);
  writer.ldelim();
  writer.ldelim();
  return new Uint8Array(writer.finish());
}

function record(writer: protobuf.Writer, seq: number, timeNs: bigint): void {
  writer.uint32(0x12).fork(); // log_records
  const time = { low: Number(timeNs & 0xffffffffn), high: Number(timeNs >> 32n), unsigned: true };
  writer.uint32(0x09).fixed64(time as unknown as number);
  writer.uint32(0x10).int32(9); // severity_number INFO
  writer.uint32(0x1a).string("INFO");
  const path = PATHS[seq % PATHS.length] ?? "";
  writer.uint32(0x2a).fork().uint32(0x0a).string(
    `request ${seq} served: GET ${path} from 10.1.${seq % 251}.${seq % 13} in ${
      seq % 977
    } ms, 200 OK, ` +
      `upstream cart-${seq % 7}.internal:8443 answered after ${
        seq % 613
      } ms, agent Mozilla/5.0 (X11)`,
  ).ldelim();
  attribute(writer, 0x32, "http.method", "GET");
  attribute(writer, 0x32, "http.target", path);
  attribute(writer, 0x32, "http.status_code", seq % 19 === 0 ? 500 : 200);
  attribute(writer, 0x32, "user.id", `u-${seq % 10_007}`);
  attribute(writer, 0x32, "region.zone", `eu-central-1${"abc"[seq % 3]}`);
  attribute(writer, 0x32, "seq", seq);
  writer.ldelim();
}

function attribute(
  writer: protobuf.Writer,
  tag: number,
  key: string,
  value: string | number,
): void {
  writer.uint32(tag).fork().uint32(0x0a).string(key).uint32(0x12).fork();
  if (typeof value === "string") writer.uint32(0x0a).string(value);
  else writer.uint32(0x18).int64(value);
  writer.ldelim().ldelim();
}
