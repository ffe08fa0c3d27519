/**
 * Values and attributes of OTLP messages once more, for tests: protobufjs objects → JSON text, in
 * the plainest way. Shares no code with the decoders. Each throws an `Error` for what must be
 * refused.
 */

import protobuf from "protobufjs";

export type Message = Record<string, unknown>;

const START_GROUP = 3;

export function list(value: unknown): Message[] {
  return (value ?? []) as Message[];
}

export function bytes(value: unknown): Buffer | undefined {
  const array = value as Uint8Array | undefined;
  return array === undefined || array.length === 0 ? undefined : Buffer.from(array);
}

export function lastByName(attributes: Message[]): Map<string, Message | undefined> {
  const map = new Map<string, Message | undefined>();
  for (const { key, value } of attributes) {
    json(value, 0);
    const name = String(key ?? "");
    map.delete(name);
    map.set(name, value as Message | undefined);
  }
  return map;
}

/** The text that fills a core column; the attribute is taken out when it does. */
export function fill(
  attributes: Map<string, Message | undefined>,
  name: string,
): string | undefined {
  const text = textOf(attributes.get(name)) || undefined;
  if (text !== undefined) attributes.delete(name);
  return text;
}

export function textOf(any: unknown): string | undefined {
  const value = (any ?? {}) as Message;
  if (kind(value) === undefined) return undefined;
  return kind(value) === "stringValue" ? String(value.stringValue) : json(value, 0);
}

function kind(value: Message): string | undefined {
  return [
    "stringValue",
    "boolValue",
    "intValue",
    "doubleValue",
    "arrayValue",
    "kvlistValue",
    "bytesValue",
  ].find((member) => Object.hasOwn(value, member));
}

export function json(any: unknown, depth: number): string {
  const value = (any ?? {}) as Message;
  switch (kind(value)) {
    case "stringValue":
      return JSON.stringify(value.stringValue);
    case "boolValue":
    case "intValue":
      return String(value[kind(value) as string]);
    case "doubleValue": {
      const double = value.doubleValue as number;
      return Number.isFinite(double) ? JSON.stringify(double) : `"${double}"`;
    }
    case "bytesValue":
      return JSON.stringify(Buffer.from(value.bytesValue as Uint8Array).toString("base64"));
    case "arrayValue":
      refuseDeep(depth);
      return `[${
        list((value.arrayValue as Message).values).map((item) => json(item, depth + 1)).join(",")
      }]`;
    case "kvlistValue": {
      refuseDeep(depth);
      const members = new Map<string, string>();
      for (const { key, value: member } of list((value.kvlistValue as Message).values)) {
        const name = String(key ?? "");
        members.delete(name);
        members.set(name, json(member, depth + 1));
      }
      return objectText(members);
    }
    default:
      return "null";
  }
}

function refuseDeep(depth: number): void {
  if (depth >= 32) throw new Error("a value nests deeper than 32");
}

export function nanos(value: unknown): bigint {
  const ns = value === undefined ? 0n : BigInt(String(value));
  if (ns > 9_223_372_036_854_775_807n) throw new Error(`time ${ns} is past 2262`);
  return ns;
}

/** protobufjs's view of a message, with groups refused: it passes over them, and OTLP has none. */
export function decodeMessage(type: protobuf.Type, body: Uint8Array): Message {
  const { prototype } = protobuf.Reader;
  const { skipType } = prototype;
  prototype.skipType = function (wireType: number, ...rest: []) {
    if (wireType === START_GROUP) throw new Error("a group");
    return skipType.call(this, wireType, ...rest);
  };
  try {
    return type.decode(body) as unknown as Message;
  } finally {
    prototype.skipType = skipType;
  }
}

/** The text of a JSON object with these members. */
export function objectText(members: ReadonlyMap<string, string>): string {
  return `{${[...members].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}
