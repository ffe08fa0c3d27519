import assert from "node:assert/strict";
import { ClientObjects, OBJECTS_BYTES_MAX, OBJECTS_MAX } from "./client_objects.ts";

Deno.test({
  name: "ClientObjects forgets the oldest past its bounds of number and bytes",
  fn() {
    const objects = new ClientObjects();
    for (let i = 0; i < OBJECTS_MAX + 10; i += 1) {
      objects.put("t", "k", { name: `${i}`, text: "{}" });
    }
    assert.equal(objects.list("t", "k").length, OBJECTS_MAX);
    assert.equal(objects.has("t", "k", "9"), false);
    assert.equal(objects.has("t", "k", "10"), true);
    const text = "x".repeat(1024 * 1024);
    for (let i = 0; i < 20; i += 1) objects.put("u", "k", { name: `${i}`, text });
    assert.ok(objects.bytes <= OBJECTS_BYTES_MAX);
    assert.equal(objects.list("u", "k").length, 7);
    assert.equal(objects.has("u", "k", "19"), true);
    // One that fits by no means is not kept either.
    objects.put("u", "k", { name: "huge", text: "x".repeat(OBJECTS_BYTES_MAX) });
    assert.equal(objects.list("u", "k").length, 0);
  },
});

Deno.test({
  name: "ClientObjects lets no tenant push out what another has put",
  fn() {
    const objects = new ClientObjects();
    objects.put("small", "k", { name: "a", text: "{}" });
    for (let i = 0; i < OBJECTS_MAX + 10; i += 1) {
      objects.put("many", "k", { name: `${i}`, text: "{}" });
    }
    for (let i = 0; i < 40; i += 1) {
      objects.put("large", "k", { name: `${i}`, text: "x".repeat(1024 * 1024) });
    }
    assert.equal(objects.has("small", "k", "a"), true);
    assert.ok(objects.list("many", "k").length > OBJECTS_MAX - 20);
    assert.ok(objects.bytes <= OBJECTS_BYTES_MAX);
  },
});

Deno.test({
  name: "ClientObjects tells tenants, kinds and names apart, and says what was there before",
  fn() {
    const objects = new ClientObjects();
    assert.equal(objects.put("t", "k", { name: "a", text: "1" }), true);
    assert.equal(objects.put("t", "k", { name: "a", text: "2" }), false);
    assert.equal(objects.put("u", "k", { name: "a", text: "3" }), true);
    assert.deepEqual(objects.list("t", "k").map(({ text }) => text), ["2"]);
    assert.equal(objects.has("t", "l", "a"), false);
    objects.forget("t", "k", "a");
    assert.equal(objects.has("t", "k", "a"), false);
    objects.forget("u", "k", "a");
    assert.equal(objects.bytes, 0);
  },
});
