import { OBJECT_STORE_CASES } from "./object_store_conformance.ts";
import { MemoryStore } from "./memory_store.ts";

for (const { name, run } of OBJECT_STORE_CASES) {
  Deno.test({ name: `MemoryStore ${name}`, fn: () => run(new MemoryStore()) });
}
