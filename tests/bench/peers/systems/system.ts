/** What a measured system is: how it is had, started, asked, and when it is settled. */

import type { Form } from "../encodings.ts";
import type { ProcessUse } from "../process_tree.ts";
import type { Call, Questions, Scope } from "../question.ts";

export interface MeasuredSystem {
  readonly name: SystemName;
  /** Its name in tables. */
  readonly title: string;
  /** What is synced before rows are acknowledged, in a few words. */
  readonly durability: string;
  /** What differs from its defaults, in a sentence. */
  readonly settings: string;
  readonly form: Form;
  readonly ingestPath: string;
  /** Errors: `OperatingError` with the reason why it cannot be had. */
  obtain(options: ObtainOptions): Promise<InstalledSystem>;
  /** Makes tables, where it has to be told of them. */
  prepare?(call: Call): Promise<void>;
  /** Asks it to write what it holds back, once rows have been sent. */
  flush?(call: Call): Promise<void>;
  /** Whether it has nothing more to do with `rows` rows; beside this it must be idle. */
  isSettled(running: RunningSystem, rows: number): Promise<boolean>;
  /** Bytes of the files that the present rows are in, with their indexes. */
  liveBytes(running: RunningSystem): Promise<number>;
  questions(scope: Scope): Questions;
  /** Why it cannot be measured when rows become visible. */
  readonly visibleUnasked?: string;
  /** What one of its processes does; the same word for all that are counted as one. */
  roleOf(use: ProcessUse): string;
}

export type SystemName = "svc" | "victoria-logs" | "loki" | "clickhouse" | "opensearch";

export interface ObtainOptions {
  /** A folder of its own outside the repository, which stays. */
  readonly cache: string;
  /** An executable that the user has; VictoriaLogs alone looks at it. */
  readonly executable?: string;
  readonly tell: (line: string) => void;
}

export interface InstalledSystem {
  readonly version: string;
  /** How it is started over `folder`, which is there, on ports that are free now. */
  launch(folder: string): Promise<Launch>;
}

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly ingestPort: number;
  readonly askPort: number;
  /** Addresses that all answer 200 once it is ready. */
  readonly readyUrls: readonly string[];
}

export interface RunningSystem {
  readonly folder: string;
  readonly launch: Launch;
  readonly call: Call;
}
