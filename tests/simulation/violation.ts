/** A promise of the product that a simulated life broke. */
export class Violation extends Error {
  override readonly name = "Violation";
}

/** Errors: `Violation` with `message` unless `holds`. */
export function requirePromise(holds: boolean, message: () => string): void {
  if (!holds) throw new Violation(message());
}
