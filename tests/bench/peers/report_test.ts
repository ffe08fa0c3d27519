import assert from "node:assert/strict";
import { replaceBlocks } from "./page_blocks.ts";
import { reportBlocks } from "./report.ts";
import type { Result } from "./result.ts";

const OURS = { shape: "services", system: "svc" } as const;
const PEER = { shape: "services", system: "victoria-logs" } as const;
const LOAD = {
  measure: "ingest",
  batch: 500,
  connections: 8,
  rows: 1_000,
  sentBytesPerRow: 400,
  secs: 9.4,
  sendingCpuUsPerRow: 4,
  cpuUsPerRowByRole: {},
  liveBytesPerRow: 64.84,
  diskBytesPerRow: 156,
  p99Ms: 9,
  retried: 0,
} as const;

const RESULTS: readonly Result[] = [
  {
    ...{ measure: "machine", date: "2026-11-23T10:00:00.000Z", cores: 2 },
    ...{ memoryBytes: 25 * 2 ** 30, rows: { services: 1_000_000 }, lines: "made up" },
  },
  {
    ...{ measure: "system", system: "svc", title: "svc", version: "1" },
    ...{ settings: "Defaults.", durability: "synced" },
  },
  {
    ...{ measure: "system", system: "victoria-logs", title: "VictoriaLogs", version: "2" },
    ...{ settings: "Defaults.", durability: "nothing" },
  },
  { measure: "skipped", system: "loki", title: "Loki", reason: "go is not installed" },
  {
    ...LOAD,
    ...OURS,
    ...{ rowsPerSec: 124_514.2, settled: false, cpuUsPerRow: 28.6 },
    peakBytesByRole: { ingest: 2 ** 27, compactor: 2 ** 30 },
  },
  {
    ...LOAD,
    ...PEER,
    ...{ rowsPerSec: 69_254, settled: true, cpuUsPerRow: 25.2 },
    peakBytesByRole: { server: 2 ** 28 },
  },
  {
    ...{ measure: "question", ...OURS, question: "range" },
    ...{ firstMs: 120.4, firstCpuMs: 90, medianMs: 16.64, cpuMs: 14.2, asked: 9 },
  },
  {
    ...{ measure: "question", ...PEER, question: "range", wrong: "the number is 1 instead of 2" },
    ...{ firstMs: 50, firstCpuMs: 9, medianMs: 1.234, cpuMs: 1.1, asked: 9 },
  },
  { measure: "question", ...PEER, question: "regex", unasked: "it has none" },
  {
    ...{ measure: "question", ...OURS, question: "regex" },
    ...{ firstMs: 3_000, firstCpuMs: 3_100, medianMs: 1_696.2, cpuMs: 3_000.4, asked: 9 },
  },
  { measure: "visible", ...PEER, unasked: "it hides them" },
  { measure: "failed", ...PEER, part: "start", reason: "too late" },
];

Deno.test({
  name: "reportBlocks a wrong answer wins nothing, and all that is missing is said",
  fn: () => {
    const blocks = reportBlocks(RESULTS);
    assert.deepEqual([...blocks.keys()], ["run", "services", "short"]);
    assert.equal(
      blocks.get("services"),
      `| Question: median ms, processor ms, ms the first time | svc | VictoriaLogs |
|---|---|---|
| count in a time range | 16.6 · **14.2** · 120 | 1.23 · 1.10 · 50.0 *wrong* |
| regular expression, counted | 1,696 · **3,000** · 3,000 | – |
| sum of processor ms, the 1 that all were asked | 14.2 | **1.10** |

| Rows in | svc | VictoriaLogs |
|---|---|---|
| rows/s, 500 a request | **124,514** | 69,254 |
| µs of processor time a row until settled, 500 a request | 28.6 | **25.2** |
| while rows were sent, 500 a request | **4.00** | **4.00** |
| s from the first row to settled, 500 a request | 9, not yet | 9 |
| peak memory while rows came | ingest 128.0 MiB, compactor 1.0 GiB | 256.0 MiB |
| bytes a row, live | **64.8** | **64.8** |
| bytes a row on disk | **156** | **156** |

- VictoriaLogs, count in a time range: wrong, the number is 1 instead of 2
- VictoriaLogs, regular expression, counted: not asked, it has none
- VictoriaLogs, from acknowledged to visible: not asked, it hides them
- VictoriaLogs: start failed, too late`,
    );
    assert.match(
      blocks.get("run") ?? "",
      /^- 2026-11-23, 2 cores, 25\.0 GiB; rows: services 1,000,000/,
    );
    assert.match(blocks.get("run") ?? "", /^- Loki was skipped: go is not installed$/m);
    assert.match(blocks.get("short") ?? "", /^\| count in a time range \| \*\*16\.6\*\* \| – \|$/m);
  },
});

Deno.test({
  name: "reportBlocks without a measured shape there are none",
  fn: () => assert.equal(reportBlocks(RESULTS.slice(0, 4)).size, 0),
});

const PAGE = `# Page
<!-- peers: run -->
old
<!-- peers end -->
between
<!-- peers: lines -->
kept
<!-- peers end -->
`;

Deno.test({
  name: "replaceBlocks replaces the blocks that are given and keeps all else",
  fn: () => {
    const text = replaceBlocks(PAGE, new Map([["run", "new $& text"]]), "page.md");
    assert.equal(text, PAGE.replace("old", () => "new $& text"));
    assert.equal(replaceBlocks(text, new Map([["run", "old"]]), "page.md"), PAGE);
  },
});

Deno.test({
  name: "replaceBlocks breaks items of lists that are wider than a page",
  fn: () => {
    const item = `- Loki, ${"rows out ".repeat(12)}failed`;
    const text = replaceBlocks(PAGE, new Map([["run", `| ${"x".repeat(120)} |\n${item}`]]), "p.md");
    const lines = text.split("\n");
    assert.ok(lines.includes(`| ${"x".repeat(120)} |`));
    const first = lines.findIndex((line) => line.startsWith("- Loki"));
    assert.ok((lines[first]?.length ?? 0) <= 100 && lines[first + 1]?.startsWith("  "));
    assert.equal(`${lines[first]} ${lines[first + 1]?.trimStart()}`, item);
  },
});

Deno.test({
  name: "replaceBlocks refuses a page without any of the blocks",
  fn: () =>
    assert.throws(
      () => replaceBlocks(PAGE, new Map([["wide", "x"]]), "page.md"),
      /Cannot write tables into page\.md: it has no block wide/,
    ),
});
