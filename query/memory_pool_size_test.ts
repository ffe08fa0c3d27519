import { strict as assert } from "node:assert";
import { utf8 } from "../shared/base/bytes.ts";
import { defaultPoolBytes } from "./memory_pool_size.ts";

const MIB = 1024 * 1024;
const V2 = "/sys/fs/cgroup/memory.max";
const V1 = "/sys/fs/cgroup/memory/memory.limit_in_bytes";

Deno.test({
  name: "defaultPoolBytes is half of the smallest limit, at least 256 MiB",
  async fn() {
    const cases: [string, Record<string, string>, number | undefined, number][] = [
      ["machine only", {}, 8192 * MIB, 4096 * MIB],
      ["cgroup v2", { [V2]: `${2048 * MIB}\n` }, 8192 * MIB, 1024 * MIB],
      ["cgroup v2 without limit", { [V2]: "max\n" }, 8192 * MIB, 4096 * MIB],
      ["cgroup v1", { [V1]: `${1000 * MIB}` }, 8192 * MIB, 500 * MIB],
      ["cgroup v1 without limit", { [V1]: "9223372036854771712\n" }, 600 * MIB, 300 * MIB],
      ["limit above the machine", { [V2]: `${9000 * MIB}` }, 8192 * MIB, 4096 * MIB],
      ["small container", { [V2]: `${100 * MIB}` }, 8192 * MIB, 256 * MIB],
      ["garbage", { [V2]: "lots" }, 8192 * MIB, 4096 * MIB],
      ["nothing may be read", {}, undefined, 256 * MIB],
    ];
    for (const [name, contents, machine, expected] of cases) {
      const bytes = await defaultPoolBytes({
        files: {
          readFile(path) {
            const text = contents[path];
            if (text === undefined) throw new Deno.errors.NotFound(path);
            return Promise.resolve(utf8(text));
          },
        },
        machineBytes() {
          if (machine === undefined) throw new Deno.errors.NotCapable("sys");
          return machine;
        },
      });
      assert.equal(bytes, expected, name);
    }
  },
});
