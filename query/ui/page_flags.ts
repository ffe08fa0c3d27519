/** Options of the page for browsers. */

import type { OptionTable } from "../../shared/config/options.ts";

export const PAGE_OPTIONS = {
  noUi: {
    kind: "switch",
    flag: "no-ui",
    env: "SVC_QUERY_NO_UI",
    help: "Serve no page at /ui/.",
  },
  uiBasePath: {
    kind: "text",
    flag: "ui-base-path",
    env: "SVC_QUERY_UI_BASE_PATH",
    placeholder: "PATH",
    help: "Path that a proxy adds to every path and does not remove, such as /logs. The server " +
      "then serves the page and the API below it, too.",
  },
  oidcClientId: {
    kind: "text",
    flag: "oidc-client-id",
    env: "SVC_OIDC_CLIENT_ID",
    placeholder: "ID",
    help: "Public client of the issuer with which users of the page sign in; needs " +
      "--oidc-issuer.",
  },
  oidcScope: {
    kind: "text",
    flag: "oidc-scope",
    env: "SVC_OIDC_SCOPE",
    placeholder: "SCOPES",
    default: "openid",
    help: "Scopes that the page requests, separated by spaces. With offline_access most issuers " +
      "let the page renew tokens by itself.",
  },
} as const satisfies OptionTable;
