/**
 * The attributes of a row by the names that a search has for them: a member within nested objects
 * by its path, `$.user.id`. An object is its members. It is listed as a whole, too, where it has
 * none, or one that no path calls.
 */

import { attributeAt, isNested, PATH_NAMES_MAX } from "../schema/attribute_path.ts";

/** Names and values of an object, in whatever form the caller has them. */
export type NamedMembers<T> = readonly (readonly [name: string, value: T])[];

/** `membersOf`: undefined for a value that is no object. */
export function flatAttributes<T>(
  attributes: NamedMembers<T>,
  membersOf: (value: T) => NamedMembers<T> | undefined,
): NamedMembers<T> {
  const found: (readonly [string, T])[] = [];
  for (const [name, value] of attributes) {
    if (addMembers(found, { names: [name], value, membersOf })) continue;
    // Who asks for an attribute that is called like a path gets the member.
    if (!isNested(name)) found.push([name, value]);
  }
  return found;
}

/** Whether a value is an object, and all that it has was added. */
function addMembers<T>(
  found: (readonly [string, T])[],
  { names, value, membersOf }: {
    readonly names: readonly string[];
    readonly value: T;
    readonly membersOf: (value: T) => NamedMembers<T> | undefined;
  },
): boolean {
  const members = names.length < PATH_NAMES_MAX ? membersOf(value) ?? [] : [];
  let isWhole = members.length > 0;
  for (const [name, own] of members) {
    const path = [...names, name];
    if (addMembers(found, { names: path, value: own, membersOf })) continue;
    const attribute = attributeAt(path);
    if (attribute === undefined) isWhole = false;
    else found.push([attribute, own]);
  }
  return isWhole;
}
