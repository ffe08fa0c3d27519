import assert from "node:assert/strict";
import { functionLengths } from "./function_lengths.ts";
import { partRoom, reduced, type RoomGraph, roomGraph, roomSizes } from "./room_graph.ts";
import { drawn, ROOMS_PAGE, sizesTable } from "./rooms_page.ts";
import { readSources } from "./sources.ts";

const SOURCES = await readSources();

Deno.test({
  name:
    "docs/architecture.md shows the rooms and imports of the code: `deno task rooms` draws them",
  async fn() {
    const page = await Deno.readTextFile(ROOMS_PAGE);
    assert.ok(drawn(page, SOURCES) === page, "run `deno task rooms` and look at the picture");
  },
});

const LINES_MAX = 80;

Deno.test({
  name: `functions have ${LINES_MAX} lines at most outside tests`,
  fn() {
    const long = [...SOURCES].flatMap(([file, source]) =>
      partRoom(file) === undefined ? [] : functionLengths(source)
        .filter(({ lines }) => lines > LINES_MAX)
        .map(({ name, line, lines }) => `${file}:${line}: ${name} has ${lines}`)
    );
    assert.deepEqual(long, []);
  },
});

const FILES = new Map([
  ["ingest/a.ts", 'import { b } from "../shared/wal/b.ts";\nimport "../shared/base/c.ts";\n'],
  ["ingest/a_test.ts", 'import { d } from "../shared/metrics/d.ts";\n'],
  ["shared/wal/b.ts", 'import { c } from "../base/c.ts";\nimport type { e } from "./e.ts";\n'],
  ["shared/wal/e.ts", 'import type { d } from "../metrics/d.ts";\n'],
  ["shared/base/c.ts", "export function c() {\n  return 1;\n}\n"],
  ["shared/metrics/d.ts", ""],
]);

function arrowsOf({ rooms, arrows }: RoomGraph): string[] {
  return rooms.flatMap((room) =>
    (arrows.get(room) ?? []).map(({ to, isType }) => `${room} ${isType ? "types of " : ""}${to}`)
  );
}

Deno.test({
  name: "roomGraph has what rooms import from each other, tests apart, and reduced what is needed",
  fn() {
    const graph = roomGraph(FILES, partRoom);
    assert.deepEqual(arrowsOf(graph), [
      "ingest base",
      "ingest wal",
      "wal base",
      "wal types of metrics",
    ]);
    assert.deepEqual(arrowsOf(reduced(graph)), ["ingest wal", "wal base"]);
  },
});

Deno.test({
  name: "sizesTable has each room of either state, and all of them",
  fn() {
    const before = new Map([...FILES, ["shared/gone/f.ts", "const f = 1;\n"]]);
    const rows = sizesTable(before, FILES).split("\n");
    assert.ok(rows.includes("| gone | 1 |  | 1 |  | ``, 0 |  |"), rows.join("\n"));
    assert.equal(rows.at(-1), "| all | 6 | 5 | 10 | 9 | `c`, 3 | `c`, 3 |");
  },
});

Deno.test({
  name: "roomSizes counts files, lines and the longest function of each room",
  fn() {
    assert.deepEqual(roomSizes(FILES, partRoom).find(({ room }) => room === "base"), {
      room: "base",
      files: 1,
      lines: 3,
      longest: { name: "c", lines: 3 },
    });
  },
});

const SOURCE = `
export async function plain(a: string): Promise<void> {
  if (a) {
    b();
  }
}

function wide(
  { a, b }: {
    readonly a: string;
  },
): void {
  a();
}

const arrow = (x: number) => {
  return x;
};

const call = other({
  inner: async (y) => {
    await y;
  },
  async method(z) {
    await z;
  },
});

abstract class C {
  abstract none(a: string): void;

  static async #made<T>(
    a: T,
  ): Promise<T> {
    for (const b of a) {
      c();
    }
    return a;
  }
}

interface D {
  member(a: string): void;
  other: (b: string) => void;
}

const short = (x: number) => x;
`;

Deno.test({
  name: "functionLengths counts functions, methods and arrows with a body, and nothing else",
  fn() {
    const found = functionLengths(SOURCE).map(({ name, line, lines, bodyLine }) =>
      `${line} ${name} ${lines} ${bodyLine}`
    );
    assert.deepEqual(found, [
      "2 plain 5 2",
      "8 wide 7 12",
      "16 arrow 3 16",
      "21 inner 3 21",
      "24 method 3 24",
      "32 #made 8 34",
    ]);
  },
});
