/**
 * `svc wal-check`: what a WAL directory holds, and what of it is damaged or gone. See
 * docs/api/command_line.md#what-a-wal-holds.
 */

import { counted } from "../../shared/base/counted.ts";
import { openCatalogReader } from "../../shared/catalog/open_catalog.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { laneName } from "../../shared/tenant/tenant.ts";
import { checkWal, isFault, type WalFinding } from "../../shared/wal/check_wal.ts";
import type { FrameDamage } from "../../shared/wal/types.ts";
import { defineCommand } from "../command.ts";
import type { Console } from "../console.ts";
import { existingCatalog } from "../existing_catalog.ts";
import { printPlan } from "../plan_table.ts";
import { requireWal } from "../wal_root.ts";

const OPTIONS = {
  wal: {
    kind: "text",
    flag: "wal",
    placeholder: "root",
    required: true,
    help: "Root of the WAL; its ingest server may be running. Nothing is changed.",
  },
  catalog: {
    kind: "text",
    flag: "catalog",
    placeholder: "uri",
    help: "Catalog to ask, read-only, which of the segments that are gone a table has. " +
      "As --catalog-uri of the servers.",
  },
  json: {
    kind: "switch",
    flag: "json",
    help: "Print one JSON object a line: each segment, what was set aside, what is missing.",
  },
} as const satisfies OptionTable;

export const command = defineCommand({
  options: OPTIONS,
  async run({ wal, catalog: uri, json }, { console }) {
    const files = new DenoFileSystem();
    const root = await requireWal(files, wal, "check");
    await using catalog = uri === undefined
      ? undefined
      : await openCatalogReader(await existingCatalog(uri, files), "--catalog");
    const consumedOf = catalog && ((names: readonly string[]) => catalog.consumedOf(names));
    const findings = checkWal(files, root, consumedOf === undefined ? {} : { consumedOf });
    const faults: WalFinding[] = [];
    const totals = new Map<string, Totals>();
    for await (const finding of findings) {
      if (isFault(finding)) faults.push(finding);
      if (json) await console.output.write(`${JSON.stringify(lineOf(finding))}\n`);
      else if (finding.kind === "segment") add(totals, finding);
    }
    if (!json) await printAll(console, totals, faults);
    const isUnsure = uri === undefined && faults.some(({ kind }) => kind === "missing");
    if (isUnsure) await console.notes.write(NO_CATALOG);
    await console.notes.write(
      faults.length === 0
        ? "every frame is intact, and no segment is missing\n"
        : `${counted(faults.length, "fault")}; docs/operate.md#a-damaged-wal says what to do\n`,
    );
    return faults.length > 0 ? 1 : 0;
  },
});

const NO_CATALOG = "without --catalog, a segment counts as missing that a table may have\n";

interface Totals {
  segments: number;
  frames: number;
  rows: number;
  bytes: number;
}

function add(totals: Map<string, Totals>, finding: WalFinding & { kind: "segment" }): void {
  const key = JSON.stringify([laneName(finding.lane), finding.state]);
  const sum = totals.get(key) ?? { segments: 0, frames: 0, rows: 0, bytes: 0 };
  totals.set(key, {
    segments: sum.segments + 1,
    frames: sum.frames + finding.frames,
    rows: sum.rows + finding.rows,
    bytes: sum.bytes + finding.bytes,
  });
}

async function printAll(
  console: Console,
  totals: ReadonlyMap<string, Totals>,
  faults: readonly WalFinding[],
): Promise<void> {
  await printPlan(
    console,
    ["lane", "state", "segments", "frames", "rows", "bytes"],
    [...totals].map(([key, { segments, frames, rows, bytes }]) => {
      const [lane = "", state = ""] = JSON.parse(key) as string[];
      return [lane, state, segments, frames, rows, bytes];
    }),
  );
  if (faults.length === 0) return;
  await printPlan(
    console,
    ["lane", "segment", "fault", "rows lost", "offsets"],
    faults.map((fault) => [
      laneName(fault.lane),
      fault.name,
      faultOf(fault),
      lostRows(fault) ?? "unknown",
      offsetsOf(fault),
    ]),
  );
}

function faultOf(fault: WalFinding): string {
  if (fault.kind === "missing") return "missing: it was sealed and is gone";
  if (fault.kind === "damaged") {
    return `damaged bytes set aside${
      fault.unreadable === undefined ? "" : `: ${fault.unreadable}`
    }`;
  }
  const { state, damage, unreadable } = fault;
  if (unreadable !== undefined) return `unreadable, in ${state}/: ${unreadable}`;
  if (damage.length > 0) return `${counted(damage.length, "damaged stretch")} in ${state}/`;
  return "set aside whole";
}

/** Rows that are lost as long as nothing is done; undefined: not known. */
function lostRows(fault: WalFinding): number | undefined {
  if (fault.kind !== "segment") return fault.rows;
  if (fault.unreadable !== undefined) return undefined;
  let lost = fault.state === "poison" ? fault.rows : 0;
  for (const { rows } of fault.damage) {
    if (rows === undefined) return undefined;
    lost += rows;
  }
  return lost;
}

function offsetsOf(fault: WalFinding): string {
  if (fault.kind === "missing") return "";
  return fault.damage.map(({ offset, endOffset }) => `${offset}-${endOffset}`).join(" ");
}

/** A finding as a line of `--json`: names in the form of other JSON of ours. */
function lineOf(finding: WalFinding): Record<string, unknown> {
  const { lane: { tenant, index }, name: segment, kind } = finding;
  const place = { kind, tenant, index, segment, fault: isFault(finding) };
  if (kind === "missing") return { ...place, rows: finding.rows, bytes: finding.bytes };
  const { bytes, rows, damage, unreadable } = finding;
  const found = { bytes, rows, damage: damage.map(damageOf), unreadable };
  if (kind === "damaged") return { ...place, ...found };
  const { state, frames, unfinishedBytes: unfinished_bytes } = finding;
  return { ...place, state, frames, ...found, unfinished_bytes };
}

function damageOf({ offset, endOffset, rows }: FrameDamage): Record<string, unknown> {
  return { offset, end_offset: endOffset, rows };
}
