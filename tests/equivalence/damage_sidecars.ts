/**
 * Sidecars as a failing disk leaves them: half of them gone, and some bits of most others flipped.
 */

import type { EngineLab } from "../../shared/testing/engine_lab.ts";
import type { SeededRandom } from "../../shared/testing/seeded_random.ts";

/**
 * Engines that have read some of them before may go on with what they know: `lab.restartEngine`.
 */
export async function damageSidecars(
  { store, dir }: Pick<EngineLab, "store" | "dir">,
  random: SeededRandom,
): Promise<void> {
  for await (const { key, size } of store.list("")) {
    if (!key.endsWith(".puffin")) continue;
    if (random.chance(0.5)) {
      await store.delete([key]);
    } else if (random.chance(0.8)) {
      const bytes = await store.get(key);
      for (let flips = 1 + random.below(3); flips > 0; flips -= 1) {
        // The first half is blobs, the second mostly the footer.
        const at = random.below(random.chance(0.7) ? size >> 1 : size);
        bytes[at] = (bytes[at] ?? 0) ^ 1 << random.below(8);
      }
      await Deno.writeFile(`${dir}/warehouse/${key}`, bytes);
    }
  }
}
