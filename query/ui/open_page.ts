/** The page as the options want it. */

import type { AuthMode } from "../../shared/auth/authenticator.ts";
import type { ReadableFiles } from "../../shared/os/file_system.ts";
import { basePathOf, pageConfigOf, type PageSettings, pathBelow } from "./page_config.ts";
import { PAGE_FOLDER, readPageFiles } from "./page_files.ts";
import { isPagePath, type ServedPage } from "./page_routes.ts";

export interface OpenedPage {
  /** Undefined: `--no-ui`. */
  readonly page: ServedPage | undefined;
  readonly basePath: string;
  /** Whether a link of another site may lead there. */
  readonly mayVisit: (request: Request) => boolean;
}

/** Errors: `invalid_argument` for options that do not go together; the file system's. */
export async function openPage(
  settings: PageSettings,
  { auth, files }: {
    readonly auth: AuthMode;
    readonly files: Pick<ReadableFiles, "readDir" | "readFile" | "openRead">;
  },
): Promise<OpenedPage> {
  const config = pageConfigOf(settings, auth);
  const basePath = basePathOf(settings);
  if (settings.noUi) return { page: undefined, basePath, mayVisit: () => false };
  return {
    page: { config, files: await readPageFiles(files, PAGE_FOLDER) },
    basePath,
    mayVisit: (request) => isPagePath(pathBelow(basePath, request)),
  };
}
