/** The pages, in the order of the bar. A page's code is loaded when it is first shown. */

import type { JSX } from "preact";

export interface PageEntry {
  /** One segment below `/ui/`; query/ui/page_routes.ts serves the document there. */
  readonly path: string;
  readonly title: string;
  readonly load: () => Promise<() => JSX.Element>;
}

export const PAGES: readonly PageEntry[] = [
  {
    path: "",
    title: "Logs",
    load: async () => (await import("../logs/logs_page.tsx")).LogsPage,
  },
  {
    path: "sql",
    title: "SQL",
    load: async () => (await import("../sql/sql_page.tsx")).SqlPage,
  },
  {
    path: "traces",
    title: "Traces",
    load: async () => (await import("../traces/traces_page.tsx")).TracesPage,
  },
  {
    path: "jobs",
    title: "Jobs",
    load: async () => (await import("../jobs/jobs_page.tsx")).JobsPage,
  },
  {
    path: "tables",
    title: "Tables",
    load: async () => (await import("../tables/tables_page.tsx")).TablesPage,
  },
  {
    path: "status",
    title: "Status",
    load: async () => (await import("../status/status_page.tsx")).StatusPage,
  },
];
