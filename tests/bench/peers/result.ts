/** What is measured, one JSON object a line on stdout; `report.ts` makes tables of it. */

import type { QuestionName } from "./question.ts";
import type { ShapeName } from "./shape.ts";
import type { SystemName } from "./systems/system.ts";

export type Result =
  | MachineResult
  | SystemResult
  | SkippedResult
  | FailedResult
  | IngestResult
  | StartResult
  | QuestionResult
  | VisibleResult
  | MemoryResult;

/** One line for a run, the first. */
export interface MachineResult {
  readonly measure: "machine";
  readonly date: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly rows: Readonly<Partial<Record<ShapeName, number>>>;
  readonly lines: "made up" | "a folder of files";
}

export interface SystemResult {
  readonly measure: "system";
  readonly system: SystemName;
  readonly title: string;
  readonly version: string;
  readonly settings: string;
  readonly durability: string;
}

/** It cannot be had here. */
export interface SkippedResult {
  readonly measure: "skipped";
  readonly system: SystemName;
  readonly title: string;
  readonly reason: string;
}

/** A part that it did not do; it takes no part in what follows for this shape. */
export interface FailedResult extends OfShape {
  readonly measure: "failed";
  readonly part: string;
  readonly reason: string;
}

interface OfShape {
  readonly shape: ShapeName;
  readonly system: SystemName;
}

export interface IngestResult extends OfShape {
  readonly measure: "ingest";
  readonly batch: number;
  readonly connections: number;
  readonly rows: number;
  readonly sentBytesPerRow: number;
  /** Acknowledged, while rows were sent. */
  readonly rowsPerSec: number;
  /** From the first row until it is settled. */
  readonly secs: number;
  /** Whether it was settled before the deadline. */
  readonly settled: boolean;
  /** Microseconds of processor time a row until settled, and of these while rows were sent. */
  readonly cpuUsPerRow: number;
  readonly sendingCpuUsPerRow: number;
  readonly cpuUsPerRowByRole: Readonly<Record<string, number>>;
  readonly peakBytesByRole: Readonly<Record<string, number>>;
  readonly liveBytesPerRow: number;
  readonly diskBytesPerRow: number;
  readonly p99Ms: number;
  readonly retried: number;
}

export interface StartResult extends OfShape {
  readonly measure: "start";
  readonly readySecs: number;
  /** Until it had answered a count of all rows of a time range. */
  readonly answeredSecs: number;
}

export interface QuestionResult extends OfShape {
  readonly measure: "question";
  readonly question: QuestionName;
  /** Why it cannot be asked; then there are no figures. */
  readonly unasked?: string;
  /** How its answer is wrong; absent when it is right. */
  readonly wrong?: string;
  readonly firstMs?: number;
  readonly firstCpuMs?: number;
  readonly medianMs?: number;
  readonly cpuMs?: number;
  readonly asked?: number;
}

export interface VisibleResult extends OfShape {
  readonly measure: "visible";
  /** Why it cannot be measured; then there are no figures. */
  readonly unasked?: string;
  readonly medianMs?: number;
  readonly maxMs?: number;
  readonly times?: number;
}

export interface MemoryResult extends OfShape {
  readonly measure: "memory while asked";
  readonly residentBytes: number;
}
