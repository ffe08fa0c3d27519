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
    help: "Path that a proxy puts before every path and does not take away, such as /logs: page " +
      "and API are then answered below it, too.",
  },
  oidcClientId: {
    kind: "text",
    flag: "oidc-client-id",
    env: "SVC_OIDC_CLIENT_ID",
    placeholder: "ID",
    help: "Public client of the issuer by which the page signs people in; needs --oidc-issuer.",
  },
  oidcScope: {
    kind: "text",
    flag: "oidc-scope",
    env: "SVC_OIDC_SCOPE",
    placeholder: "SCOPES",
    default: "openid",
    help: "Scopes that the page asks for, with spaces between. With offline_access most issuers " +
      "let it renew tokens by itself.",
  },
} as const satisfies OptionTable;
