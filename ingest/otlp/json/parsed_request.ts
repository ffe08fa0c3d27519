/**
 * What logs and traces in OTLP/JSON have in common: the text is written in the protobuf wire
 * format, so that both encodings have one mapping. A text in the common form goes there from bytes
 * to bytes (`JsonTranscoder`); any other is parsed by `JSON.parse`, which is where refusals come
 * from.
 *
 * Unknown members are ignored. Names are lowerCamelCase only, ids are hexadecimal, bytes base64,
 * enums numbers. Integers may be strings or numbers, and those of 64 bits are exact as both. A lone
 * surrogate in a string becomes U+FFFD.
 */

import { textOf } from "../../../shared/base/bytes.ts";
import { messageOf, OperatingError } from "../../../shared/base/errors.ts";
import { boundsFault } from "../../../shared/document/json_bounds.ts";
import {
  base64Of,
  boolOf,
  doubleOf,
  eachObject,
  exactReviver,
  INEXACT,
  inObject,
  int32Of,
  intValueOf,
  JsonFault,
  refusal,
  stringOf,
  timeOf,
  uint32Of,
} from "./member_values.ts";
import type { JsonMessage } from "./message_shape.ts";
import { JsonTranscoder } from "./transcoder.ts";
import { REQUEST_JSON_VALUES_MAX, tooMany } from "../request_limits.ts";
import { VALUE_DEPTH_MAX } from "../wire/value_reader.ts";
import { WireWriter } from "../wire/wire_writer.ts";
import type { JsonObject } from "../../../shared/document/json_object.ts";

/** The members of a request that have other names in logs and in traces. */
export interface JsonRequestShape {
  readonly resources: string;
  readonly scopes: string;
  readonly records: string;
  /** The request with all that is in it, for `JsonTranscoder`. */
  readonly message: JsonMessage;
  /** Writes the fields of one record. */
  readonly writeRecord: (writer: JsonRequestWriter, record: JsonObject) => void;
}

const INT32 = { min: -(2 ** 31), max: 2 ** 31 - 1 } as const;

/** Values have a bound of their own for their depth. */
const BOUNDS = { depthMax: Infinity, valuesMax: REQUEST_JSON_VALUES_MAX } as const;

/**
 * Kept between requests: a decoder runs to its end without waiting, so there is one user at a time.
 */
export class JsonRequestWriter {
  readonly wire = new WireWriter();
  readonly #shape: JsonRequestShape;
  readonly #transcoder = new JsonTranscoder(this.wire);

  constructor(shape: JsonRequestShape) {
    this.#shape = shape;
  }

  /**
   * What `decode` makes of the request in protobuf, whose bytes are valid until it returns. Throws
   * `invalid_argument` for text that is no JSON object of that message, `too_large` past
   * `ingest/otlp/request_limits.ts`.
   */
  through<T>(body: Uint8Array, decode: (protobuf: Uint8Array) => T): T {
    const { out } = this.wire;
    try {
      if (!this.#transcoder.write(body, this.#shape.message)) {
        out.clear();
        this.#parsed(requestText(body));
      }
      return decode(out.bytes.subarray(0, out.length));
    } finally {
      out.clear();
    }
  }

  /** Writes the request as `JSON.parse` reads it. */
  #parsed(text: string): void {
    if (boundsFault(text, BOUNDS) !== undefined) {
      throw tooMany("members and elements", REQUEST_JSON_VALUES_MAX);
    }
    try {
      try {
        this.#request(parse(text, this.#shape.resources));
      } catch (error) {
        if (error !== INEXACT) throw error;
        this.wire.out.clear();
        this.#request(parse(text, this.#shape.resources, exactReviver));
      }
    } catch (error) {
      throw error instanceof JsonFault ? error.refusal() : error;
    }
  }

  #request(request: JsonObject): void {
    const { wire } = this;
    const { resources, scopes } = this.#shape;
    eachObject(request[resources], resources, (ofResource) => {
      const start = wire.start(0x0a);
      inObject(ofResource.resource, "resource", (resource) => {
        const resourceStart = wire.start(0x0a);
        this.keyValues(0x0a, resource);
        wire.end(resourceStart);
      });
      eachObject(ofResource[scopes], scopes, (ofScope) => this.#ofScope(ofScope));
      wire.end(start);
    });
  }

  #ofScope(ofScope: JsonObject): void {
    const { wire } = this;
    const { records, writeRecord } = this.#shape;
    const start = wire.start(0x12);
    inObject(ofScope.scope, "scope", (scope) => {
      const scopeStart = wire.start(0x0a);
      this.string(0x0a, scope.name, "name");
      this.string(0x12, scope.version, "version");
      this.keyValues(0x1a, scope);
      wire.end(scopeStart);
    });
    eachObject(ofScope[records], records, (record) => {
      const recordStart = wire.start(0x12);
      writeRecord(this, record);
      wire.end(recordStart);
    });
    wire.end(start);
  }

  string(tag: number, value: unknown, member: string): void {
    const text = stringOf(value, member);
    if (text !== undefined) this.wire.string(tag, text);
  }

  /** Unix nanoseconds, `fixed64`. */
  time(tag: number, value: unknown, member: string): void {
    const time = timeOf(value, member);
    if (time !== undefined) this.wire.fixed64(tag, time);
  }

  /** Hexadecimal, `bytes`. */
  id(tag: number, value: unknown, member: string): void {
    const text = stringOf(value, member);
    if (text === undefined || text === "") return;
    if (!this.wire.hex(tag, text)) throw refusal(member, text, "pairs of hexadecimal digits");
  }

  /** An enum or another `int32`. */
  int32(tag: number, value: unknown, member: string): void {
    const integer = int32Of(value, member, INT32);
    if (integer !== undefined) this.wire.varint(tag, integer);
  }

  uint32(tag: number, value: unknown, member: string): void {
    const integer = uint32Of(value, member);
    if (integer !== undefined) this.wire.varint(tag, integer);
  }

  fixed32(tag: number, value: unknown, member: string): void {
    const integer = uint32Of(value, member);
    if (integer !== undefined) this.wire.fixed32(tag, integer);
  }

  /** The member `attributes` of a message. */
  keyValues(tag: number, { attributes }: JsonObject): void {
    writeKeyValues(this.wire, { tag, depth: 0 }, { member: "attributes", value: attributes });
  }

  /** An `AnyValue`. */
  value(tag: number, value: unknown, member: string): void {
    inObject(value, member, (object) => writeValue(this.wire, { tag, depth: 0 }, object));
  }
}

function requestText(body: Uint8Array): string {
  try {
    return textOf(body);
  } catch (cause) {
    const message = `Cannot decode the OTLP/JSON request of ${body.length} bytes: it is not UTF-8`;
    throw new OperatingError("invalid_argument", message, { cause });
  }
}

function parse(text: string, wanted: string, reviver?: typeof exactReviver): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text, reviver);
  } catch (cause) {
    const message = `Cannot decode the OTLP/JSON request: ${messageOf(cause)}`;
    throw new OperatingError("invalid_argument", message, { cause });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as JsonObject;
  }
  throw refusal("the request", value, `an object with ${wanted}`);
}

/** Where a value goes; `depth` counts the arrays and maps around it. */
interface Place {
  readonly tag: number;
  readonly depth: number;
}

function writeKeyValues(
  writer: WireWriter,
  { tag, depth }: Place,
  { member, value: keyValues }: { member: string; value: unknown },
): void {
  eachObject(keyValues, member, ({ key, value }) => {
    const start = writer.start(tag);
    const name = stringOf(key, "key");
    if (name !== undefined) writer.string(0x0a, name);
    inObject(value, "value", (any) => writeValue(writer, { tag: 0x12, depth }, any));
    writer.end(start);
  });
}

function writeValue(writer: WireWriter, { tag, depth }: Place, value: JsonObject): void {
  const start = writer.start(tag);
  let written = 0;
  for (const member in value) {
    if (value[member] !== null && writeMember(writer, { value, member, depth })) written += 1;
  }
  if (written > 1) throw refusal("", value, "one member of it, such as stringValue");
  writer.end(start);
}

/** Writes one member of an `AnyValue`; false when it has no such member. */
function writeMember(
  writer: WireWriter,
  { value, member, depth }: { value: JsonObject; member: string; depth: number },
): boolean {
  const content = value[member];
  switch (member) {
    case "stringValue":
      writer.string(0x0a, stringOf(content, member) ?? "");
      return true;
    case "boolValue":
      writer.varint(0x10, boolOf(content, member) === true ? 1 : 0);
      return true;
    case "intValue":
      writer.int64(0x18, intValueOf(content, member) ?? 0n);
      return true;
    case "doubleValue":
      writer.double(0x21, doubleOf(content, member) ?? 0);
      return true;
    case "bytesValue":
      writer.bytes(0x3a, base64Of(content, member) ?? new Uint8Array(0));
      return true;
    case "arrayValue":
    case "kvlistValue":
      writeContainer(writer, { member, depth }, content);
      return true;
    default:
      return false;
  }
}

function writeContainer(
  writer: WireWriter,
  { member, depth }: { member: "arrayValue" | "kvlistValue"; depth: number },
  content: unknown,
): void {
  if (depth >= VALUE_DEPTH_MAX) {
    throw refusal(member, content, `at most ${VALUE_DEPTH_MAX} nested arrays and maps`);
  }
  const inside = { tag: 0x0a, depth: depth + 1 };
  inObject(content, member, ({ values }) => {
    const start = writer.start(member === "arrayValue" ? 0x2a : 0x32);
    if (member === "kvlistValue") {
      writeKeyValues(writer, inside, { member: "values", value: values });
    } else {
      eachObject(values, "values", (element) => writeValue(writer, inside, element));
    }
    writer.end(start);
  });
}
