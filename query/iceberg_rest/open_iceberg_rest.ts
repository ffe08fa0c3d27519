/** Opens the REST catalog of the tables for other engines, as the settings say. */

import { UsageError } from "../../shared/base/errors.ts";
import { LateResource } from "../../shared/base/late_resource.ts";
import type { CatalogReader } from "../../shared/catalog/catalog.ts";
import { openCatalog } from "../../shared/catalog/open_catalog.ts";
import type { Clock } from "../../shared/os/clock.ts";
import { environment } from "../../shared/os/environment.ts";
import type { FileSystem } from "../../shared/os/file_system.ts";
import type { Random } from "../../shared/os/random.ts";
import type { ReadableStore } from "../../shared/storage/object_store.ts";
import { openStore } from "../../shared/storage/open_store.ts";
import { isS3Url, type S3Access, s3AccessOf } from "../../shared/storage/s3_settings.ts";
import type { QuerySettings } from "../flags.ts";
import { queryPaths } from "../query_paths.ts";
import { RestCatalog } from "./rest_catalog.ts";
import { RestCommits } from "./rest_commits.ts";
import { VendedCredentials } from "./vended_credentials.ts";

/** Errors: `UsageError` for options that do not go together. */
export function openRestCatalog(
  settings: QuerySettings,
  { store, catalog, clock }: {
    readonly store: ReadableStore;
    readonly catalog: CatalogReader;
    readonly clock: Clock;
  },
): RestCatalog {
  const isInS3 = isS3Url(queryPaths(settings).warehouse);
  const { icebergStsUrl: stsUrl, icebergStsRole: roleArn, icebergWrites: writes } = settings;
  if ((stsUrl === undefined) !== (roleArn === undefined) || !isInS3 && stsUrl !== undefined) {
    throw new UsageError(
      "Cannot give engines credentials: --iceberg-sts-url and --iceberg-sts-role need each other, " +
        "and a warehouse in S3; give all three or neither of these two",
    );
  }
  if (stsUrl !== undefined && !/^https?:$/.test(URL.parse(stsUrl)?.protocol ?? "")) {
    throw new UsageError(
      `Cannot use --iceberg-sts-url ${JSON.stringify(stsUrl)}: give https://host/`,
    );
  }
  if (!isInS3) return new RestCatalog({ catalog, store, properties: {} });
  const access = s3AccessOf(environment);
  const vended = stsUrl === undefined || roleArn === undefined
    ? undefined
    : new VendedCredentials({ stsUrl, roleArn, access, writes, clock });
  return new RestCatalog({ catalog, store, properties: s3Properties(access), vended });
}

/** The catalog is opened for writing with the first commit. */
export function openRestCommits(
  settings: QuerySettings,
  { starting, files, clock, random }: {
    readonly starting: AsyncDisposableStack;
    readonly files: FileSystem;
    readonly clock: Clock;
    readonly random: Random;
  },
): RestCommits | undefined {
  if (!settings.icebergWrites) return undefined;
  const { catalog, warehouse } = queryPaths(settings);
  const { store } = openStore(warehouse, { files, clock, random, env: environment });
  const late = starting.use(new LateResource(() => openCatalog(catalog, { files })));
  return starting.use(new RestCommits({ store, clock, random, catalog: () => late.get() }));
}

/** Where the bucket is, as Iceberg's clients are told; credentials are their own. */
function s3Properties({ endpoint, region, pathStyle }: S3Access): Record<string, string> {
  return {
    "s3.endpoint": endpoint,
    "s3.region": region,
    "client.region": region,
    "s3.path-style-access": String(pathStyle),
  };
}
