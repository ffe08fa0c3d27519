/** The time of a row, in the zone that was chosen. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { agoText } from "../view/time_text.ts";
import type { RowPlace } from "./log_rows.ts";
import { clockText, dayText, type Zone } from "./time_zone.ts";

export function RowTime({ place: { timestamp }, zone }: {
  readonly place: RowPlace;
  readonly zone: Zone;
}): JSX.Element {
  const [title, setTitle] = useState<string | undefined>(undefined);
  const ms = Date.parse(timestamp);
  return (
    <time
      class="time"
      dateTime={timestamp}
      title={title}
      // How long ago is told as of the moment somebody looks.
      onPointerEnter={() => setTitle(`${timestamp} (UTC)\n${agoText(ms, Date.now())}`)}
    >
      <span class="day">{dayText(ms, zone)}</span>
      {clockText(ms, zone)}
    </time>
  );
}
