/** Names with what they stand for, in a `<dl class="figures">`. */

import type { ComponentChildren, JSX } from "preact";
import { TimeView } from "./time_view.tsx";

/** A name and its value. */
export function Figure({ name, children }: {
  readonly name: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A name and an instant in ISO 8601; nothing without one. */
export function Moment({ name, at }: {
  readonly name: string;
  readonly at: string | undefined;
}): JSX.Element | null {
  return at === undefined ? null : (
    <Figure name={name}>
      <TimeView ms={Date.parse(at)} />
    </Figure>
  );
}
