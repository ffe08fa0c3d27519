import assert from "node:assert/strict";
import { utf8, viewOf } from "../../../shared/base/bytes.ts";
import { ContextMembers } from "./context_members.ts";
import { ValueReader } from "../wire/value_reader.ts";
import { WireReader } from "../wire/wire_reader.ts";
import { WireWriter } from "../wire/wire_writer.ts";

function resourceOf(attributes: Readonly<Record<string, string>>): Uint8Array {
  const wire = new WireWriter();
  for (const [name, value] of Object.entries(attributes)) {
    const attribute = wire.start(0x0a);
    wire.string(0x0a, name);
    const start = wire.start(0x12);
    wire.string(0x0a, value);
    wire.end(start);
    wire.end(attribute);
  }
  return wire.out.take();
}

Deno.test({
  name:
    "ContextMembers.keep: what stays is one piece of memory, and right when others were read since",
  fn() {
    const reader = new WireReader();
    const values = new ValueReader(reader);
    const members = new ContextMembers(reader, values);
    const read = (resource: Uint8Array) => {
      reader.open(resource);
      values.start(1_000);
      members.read({ start: 0, end: resource.length }, { start: 0, end: 0 });
    };
    read(resourceOf({ host: 'a"b', zone: "é", [`long${"x".repeat(5_000)}`]: "1" }));
    const entries = members.merged();
    const kept = members.keep(entries, [utf8("flags"), utf8("index")]);
    read(resourceOf({ other: "y".repeat(20_000) }));

    const { view, length } = kept.text;
    const text = new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset, length));
    assert.equal(text, `"host":"a\\"b","zone":"é","long${"x".repeat(5_000)}":"1"`);
    const [host, zone] = kept.texts(entries);
    assert.equal(host?.name, "host");
    assert.equal(zone?.json.buffer, view.buffer);
    const names = kept.names();
    const placeOf = (name: string) => names.find(viewOf(utf8(name)), 0, utf8(name).length);
    assert.deepEqual(["host", "zone", "flags", "index", "other"].map(placeOf), [0, 1, 3, 4, -1]);
  },
});
