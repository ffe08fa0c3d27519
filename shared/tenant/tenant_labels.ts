/**
 * Labels of metrics that name tenants and their tables, and what of them a scraper may be shown.
 */

import { DEFAULT_NAMESPACE, DEFAULT_TENANT } from "./tenant.ts";

/**
 * Value of the labels of a series that all tenants but the default one share; nobody can be called
 * that.
 */
const TENANTS = "(tenants)";

/** The part of a label's value that is the tenant, and the default one's. */
const LABELS: Readonly<Record<string, { separator: string; own: string }>> = {
  tenant: { separator: "", own: DEFAULT_TENANT },
  lane: { separator: "/", own: DEFAULT_TENANT },
  table: { separator: ".", own: DEFAULT_NAMESPACE },
};

/**
 * `labels` without any tenant's name but the default one's: that is a single-tenant service's, and
 * no customer.
 */
export function withoutTenants(
  labels: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  for (const [label, { separator, own }] of Object.entries(LABELS)) {
    const value = labels[label];
    if (value === undefined || isShared(value)) continue;
    const tenant = separator === "" ? value : value.slice(0, value.indexOf(separator));
    if (tenant === own) continue;
    const hidden = { ...labels, [label]: TENANTS };
    return "index" in labels ? { ...hidden, index: TENANTS } : hidden;
  }
  return labels;
}

/** `(other)`: lanes past a bound share that one. */
function isShared(value: string): boolean {
  return value.startsWith("(");
}
