/** What a process and all below it use: processor time and memory. Linux alone. */

import { processorSecsOf } from "./processor_clock.ts";

/** `USER_HZ` of all architectures that Linux runs on. */
const TICKS_PER_SEC = 100;

export interface ProcessUse {
  readonly pid: number;
  /** The words of its command line. */
  readonly words: readonly string[];
  /** Its own and those of children that have ended and were waited for. */
  readonly cpuSecs: number;
  /** The highest resident memory that it had. */
  readonly peakBytes: number;
}

/** `pid` and what is below it, as far as it still runs. */
export function processTree(pid: number): readonly ProcessUse[] {
  const children = childrenByParent();
  const found: ProcessUse[] = [];
  const todo = [pid];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    todo.push(...children.get(next) ?? []);
    const use = useOf(next);
    if (use !== undefined) found.push(use);
  }
  return found;
}

export function totalCpuSecs(tree: readonly ProcessUse[]): number {
  return tree.reduce((sum, { cpuSecs }) => sum + cpuSecs, 0);
}

/**
 * Memory of all processes of a tree. Pages that several have, those of programs and libraries,
 * count once: so a system of six processes is measured like one of a single process. Takes the
 * kernel some milliseconds a process. Source: proc_pid_smaps(5), `Pss`.
 */
export function totalResidentBytes(tree: readonly ProcessUse[]): number {
  return tree.reduce(
    (sum, { pid }) => sum + bytesOf(readProc(`${pid}/smaps_rollup`) ?? "", "Pss"),
    0,
  );
}

function childrenByParent(): ReadonlyMap<number, readonly number[]> {
  const children = new Map<number, number[]>();
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const parent = statOf(name)?.parent;
    if (parent !== undefined) children.set(parent, [...children.get(parent) ?? [], Number(name)]);
  }
  return children;
}

function useOf(pid: number): ProcessUse | undefined {
  const cpuSecs = processorSecsOf(pid);
  const stat = statOf(String(pid));
  const status = readProc(`${pid}/status`);
  if (cpuSecs === undefined || stat === undefined || status === undefined) return undefined;
  return {
    pid,
    words: (readProc(`${pid}/cmdline`) ?? "").split("\0"),
    cpuSecs: cpuSecs + stat.endedChildrenSecs,
    peakBytes: bytesOf(status, "VmHWM"),
  };
}

function bytesOf(status: string, name: string): number {
  return 1_024 * Number(new RegExp(`^${name}:\\s*(\\d+) kB`, "m").exec(status)?.[1] ?? 0);
}

/** Source of the fields: proc_pid_stat(5), from `state` on. */
function statOf(pid: string): { parent: number; endedChildrenSecs: number } | undefined {
  const text = readProc(`${pid}/stat`);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z") return undefined;
  return {
    parent: Number(fields[1]),
    endedChildrenSecs: (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SEC,
  };
}

/** A process may end at any moment, and its folder with it. */
function readProc(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(`/proc/${path}`);
  } catch {
    return undefined;
  }
}
