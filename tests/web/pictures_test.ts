import { deepStrictEqual } from "node:assert/strict";
import { PICTURES, THEMES } from "./pictures.ts";

const README = new URL("../../README.md", import.meta.url);
const FOLDER = new URL("../../docs/pictures/", import.meta.url);

Deno.test({
  name: "README.md shows the pictures that deno task screenshots makes, and no others",
  async fn() {
    const made = PICTURES.flatMap(({ name }) => THEMES.map((theme) => `${name}-${theme}.webp`));
    const shown = [
      ...(await Deno.readTextFile(README)).matchAll(/docs\/pictures\/([\w-]+\.webp)/g),
    ];
    deepStrictEqual([...new Set(shown.map(([, name]) => name))].toSorted(), made.toSorted());
    const there = Array.from(Deno.readDirSync(FOLDER), ({ name }) => name);
    deepStrictEqual(there.toSorted(), made.toSorted());
  },
});
