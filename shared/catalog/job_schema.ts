/**
 * Tables of the job store, the same in both databases. Times are Unix milliseconds by the store's
 * clock.
 */

export const JOB_TABLES = `
CREATE TABLE IF NOT EXISTS svc_jobs (
  job_id VARCHAR(64) NOT NULL PRIMARY KEY,
  table_namespace VARCHAR(255) NOT NULL,
  status VARCHAR(16) NOT NULL,
  query TEXT NOT NULL,
  owner VARCHAR(64),
  lease_ends_ms BIGINT NOT NULL,
  submitted_ms BIGINT NOT NULL,
  started_ms BIGINT,
  ended_ms BIGINT,
  cost TEXT,
  progress_rows BIGINT,
  progress_percent DOUBLE PRECISION,
  error TEXT
);
CREATE INDEX IF NOT EXISTS svc_jobs_of_namespace ON svc_jobs (table_namespace, job_id);
CREATE INDEX IF NOT EXISTS svc_jobs_ended ON svc_jobs (ended_ms);
CREATE TABLE IF NOT EXISTS svc_job_results (
  job_id VARCHAR(64) NOT NULL PRIMARY KEY,
  head TEXT NOT NULL,
  tail TEXT NOT NULL,
  rows_text TEXT,
  parts INTEGER NOT NULL
);
`;
