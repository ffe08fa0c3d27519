import assert from "node:assert/strict";
import { LateResource } from "./late_resource.ts";

Deno.test({
  name: "LateResource opens once, again after a failure, and after a rest, and closes what is open",
  async fn() {
    const events: string[] = [];
    let failing = true;
    const late = new LateResource(() => {
      events.push("open");
      if (failing) return Promise.reject(new Error("not yet"));
      const close = () => {
        events.push("close");
        return Promise.resolve();
      };
      return Promise.resolve({ [Symbol.asyncDispose]: close });
    });
    await late[Symbol.asyncDispose]();
    await assert.rejects(late.get(), /not yet/);
    failing = false;
    const [one, two] = await Promise.all([late.get(), late.get()]);
    assert.equal(one, two);
    await late.rest();
    await late.rest();
    assert.deepEqual(events, ["open", "open", "close"]);
    await late.get();
    await late[Symbol.asyncDispose]();
    assert.deepEqual(events.slice(3), ["open", "close"]);
  },
});
