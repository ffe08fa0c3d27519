import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { timeText, timeTitle } from "./time_text.ts";

/** An instant in the viewer's zone; hovering and focus tell UTC and how long ago. `ms` is Unix time. */
export function TimeView({ ms, text }: {
  readonly ms: number;
  /** What is shown instead of date and time. */
  readonly text?: string;
}): JSX.Element {
  const [title, setTitle] = useState<string | undefined>(undefined);
  // How long ago is told as of the moment somebody looks.
  const look = () => setTitle(timeTitle(ms, Date.now()));
  return (
    <time
      dateTime={new Date(ms).toISOString()}
      title={title}
      onPointerEnter={look}
      onFocus={look}
    >
      {text ?? timeText(ms)}
    </time>
  );
}
