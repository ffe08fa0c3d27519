/** What `docs/architecture.md` shows of the code, as text. Pure; `draw_rooms.ts` writes it. */

import {
  engineRoom,
  partRoom,
  reduced,
  type RoomGraph,
  roomGraph,
  type RoomSize,
  roomSizes,
} from "./room_graph.ts";

export const ROOMS_PAGE = new URL("../../docs/architecture.md", import.meta.url);

/** Tops of the pictures: programs, which nothing of shared/ imports. */
const PROGRAMS = new Set(["cli", "compactor", "ingest", "query"]);

/** The page with its drawn sections made anew. Errors: a section is missing in it. */
export function drawn(page: string, sources: ReadonlyMap<string, string>): string {
  const sections: Readonly<Record<string, string>> = {
    "rooms": picture(reduced(roomGraph(sources, partRoom))),
    "rooms of the engine": importsTable(roomGraph(sources, engineRoom)),
  };
  return Object.entries(sections).reduce(
    (text, [name, section]) => withSection(text, name, section),
    page,
  );
}

/** The page with its section `name` replaced. Errors: the section is missing in it. */
export function withSection(page: string, name: string, section: string): string {
  const [begin, end] = [`<!-- drawn: ${name} -->\n`, `<!-- end: ${name} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page has no section "${name}"`);
  return `${page.slice(0, from)}${begin}\n${section}\n\n${page.slice(to)}`;
}

/** A Mermaid flowchart, programs first. */
function picture({ rooms, arrows }: RoomGraph): string {
  const programs = rooms.filter((room) => PROGRAMS.has(room));
  const lines = rooms.flatMap((room) => {
    const targets = (arrows.get(room) ?? []).map(({ to }) => to);
    return targets.length === 0 ? [] : [`  ${room} --> ${targets.join(" & ")}`];
  });
  return [
    "```mermaid",
    "flowchart TD",
    `  subgraph programs`,
    ...programs.map((room) => `    ${room}`),
    "  end",
    ...lines,
    "```",
  ].join("\n");
}

function importsTable({ rooms, arrows }: RoomGraph): string {
  const named = (room: string) => room === "(engine)" ? room : `\`${room}/\``;
  return [
    "| Room | Imports | For types alone |",
    "|---|---|---|",
    ...rooms.map((room) => {
      const all = arrows.get(room) ?? [];
      const [values, types] = [false, true].map((isType) =>
        all.filter((arrow) => arrow.isType === isType).map(({ to }) => named(to)).join(", ")
      );
      return `| ${named(room)} | ${values} | ${types} |`;
    }),
  ].join("\n");
}

/** Files, lines and the longest function of each room and of all, in two states of the code. */
export function sizesTable(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): string {
  const states = [before, after].map((sources) =>
    new Map([...roomSizes(sources, partRoom), allSize(sources)].map((size) => [size.room, size]))
  );
  const rooms = new Set(states.flatMap((sizes) => [...sizes.keys()]).sort());
  rooms.delete(ALL);
  const cells = (room: string, show: (size: RoomSize) => string) =>
    states.map((sizes) => {
      const size = sizes.get(room);
      return size === undefined ? "" : show(size);
    }).join(" | ");
  return [
    "| Room | Files before | after | Lines before | after | Longest function before | after |",
    "|---|---|---|---|---|---|---|",
    ...[...rooms, ALL].map((room) =>
      `| ${room} | ${cells(room, ({ files }) => String(files))} | ` +
      `${cells(room, ({ lines }) => String(lines))} | ` +
      `${cells(room, ({ longest }) => `\`${longest.name}\`, ${longest.lines}`)} |`
    ),
  ].join("\n");
}

const ALL = "all";

function allSize(sources: ReadonlyMap<string, string>): RoomSize {
  const inRoom = (file: string) => partRoom(file) === undefined ? undefined : ALL;
  const [size] = roomSizes(sources, inRoom);
  return size ?? { room: ALL, files: 0, lines: 0, longest: { name: "", lines: 0 } };
}
