/**
 * Attributes within nested objects, which are called by a path: `$.user.id` is the member `id` of
 * the object `user`. Any other text is the name of an attribute itself, dots and all.
 *
 * A path has plain names only, so that it means one thing to DuckDB (`attributes->>'$.user.id'`)
 * and to whoever reads a column called so. No name in it could be an element of an array.
 */

/** Names of a path whose attribute gets a column, and whose texts are in indexes of values. */
export const PATH_NAMES_MAX = 8;

const PLAIN = "[A-Za-z_][\\w:/@-]*";
const PLAIN_NAME = new RegExp(`^${PLAIN}$`);
const PATH = new RegExp(`^\\$(?:\\.${PLAIN}){2,}$`);

/** Whether the attribute is called by a path into nested objects. */
export function isNested(attribute: string): boolean {
  return attribute.startsWith("$") && PATH.test(attribute);
}

/** The names that lead to an attribute, the outermost first. */
export function namesTo(attribute: string): readonly string[] {
  return isNested(attribute) ? attribute.slice("$.".length).split(".") : [attribute];
}

/**
 * The attribute to which these names lead. Undefined where there is none to call so: a name within
 * an object is not plain, or the only name looks like a path.
 */
export function attributeAt(names: readonly string[]): string | undefined {
  const [name, ...more] = names;
  if (name === undefined) return undefined;
  if (more.length === 0) return isNested(name) ? undefined : name;
  return names.every((one) => PLAIN_NAME.test(one)) ? `$.${names.join(".")}` : undefined;
}
