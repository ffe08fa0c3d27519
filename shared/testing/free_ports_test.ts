import assert from "node:assert/strict";
import { freePort, freePorts } from "./free_ports.ts";

Deno.test("freePorts gives each port once, over several blocks", () => {
  const ports = freePorts(100);
  assert.equal(new Set(ports).size, 100);
});

Deno.test("freePort gives no port that the system hands out by itself", () => {
  assert.ok(freePort() < 32_768);
});

Deno.test("freePort skips a port where something listens", () => {
  let next = freePort() + 1;
  while (next % 32 === 0) next = freePort() + 1; // the next block's, maybe of another test
  using _taken = Deno.listen({ hostname: "127.0.0.1", port: next });
  assert.notEqual(freePort(), next);
});

Deno.test("freePorts of two threads are different", async () => {
  const source = `import { freePorts } from ${
    JSON.stringify(import.meta.resolve("./free_ports.ts"))
  };
    postMessage(freePorts(40)); onmessage = () => close();`;
  const url = `data:text/javascript,${encodeURIComponent(source)}`;
  const workers = [0, 1, 2].map(() => new Worker(url, { type: "module" }));
  try {
    const ports = await Promise.all(
      workers.map((worker) =>
        new Promise<number[]>((resolve, reject) => {
          worker.onmessage = ({ data }) => resolve(data);
          worker.onerror = reject;
        })
      ),
    );
    assert.equal(new Set(ports.flat()).size, 120);
  } finally {
    for (const worker of workers) worker.terminate();
  }
});
