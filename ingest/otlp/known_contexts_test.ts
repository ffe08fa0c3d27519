import assert from "node:assert/strict";
import fc from "fast-check";
import { viewOf } from "../../shared/base/bytes.ts";
import { KnownContexts } from "./known_contexts.ts";

/** Few different bytes, so that parts are often the same and one begins as another ends. */
const PART = fc.uint8Array({ maxLength: 6 }).map((bytes) => bytes.map((byte) => byte & 1));

/** Both parts somewhere in a request, the scope first or last. */
function placed(resource: Uint8Array, scope: Uint8Array, at: number) {
  const bytes = new Uint8Array(at + resource.length + scope.length + 3);
  bytes.set(resource, at);
  bytes.set(scope, at + resource.length);
  return {
    view: viewOf(bytes),
    resource: { start: at, end: at + resource.length },
    scope: { start: at + resource.length, end: at + resource.length + scope.length },
  };
}

Deno.test({
  name: "KnownContexts gives what was added for these very parts, or nothing",
  fn() {
    const requests = fc.array(fc.tuple(PART, PART, fc.nat(5)), { maxLength: 300 });
    fc.assert(fc.property(requests, (sent) => {
      const contexts = new KnownContexts<string>();
      for (const [resource, scope, at] of sent) {
        const { view, ...spans } = placed(resource, scope, at);
        const name = `${resource}/${scope}`;
        const known = contexts.find(view, spans.resource, spans.scope);
        assert.ok(known === undefined || known === name, `${known} instead of ${name}`);
        if (known === undefined) contexts.add(view, { ...spans, context: name });
        // The request's memory is used again.
        new Uint8Array(view.buffer).fill(9);
      }
    }));
  },
});

Deno.test({
  name: "KnownContexts finds a resource and scope again, and forgets them past its bound",
  fn() {
    const contexts = new KnownContexts<number>();
    const of = (number: number) =>
      placed(new Uint8Array(new Uint16Array([number]).buffer), Uint8Array.of(1), 2);
    const find = (number: number) => {
      const { view, resource, scope } = of(number);
      return contexts.find(view, resource, scope);
    };
    for (let number = 0; number < 200; number += 1) {
      const { view, ...spans } = of(number);
      contexts.add(view, { ...spans, context: number });
    }
    assert.ok(
      Array.from({ length: 200 }, (_, number) => find(number)).every((it, at) => it === at),
    );
    for (let number = 200; number < 300; number += 1) {
      const { view, ...spans } = of(number);
      contexts.add(view, { ...spans, context: number });
    }
    assert.equal(find(0), undefined);
    assert.equal(find(299), 299);
  },
});
