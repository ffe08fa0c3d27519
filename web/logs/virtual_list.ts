/** A list of which the browser holds only what is in view: `@tanstack/virtual-core` for Preact. */

import {
  elementScroll,
  measureElement,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from "@tanstack/virtual-core";
import { type RefObject } from "preact";
import { useLayoutEffect, useReducer, useState } from "preact/hooks";

export type RowVirtualizer = Virtualizer<HTMLElement, HTMLElement>;

export interface VirtualListOptions {
  readonly count: number;
  /** What scrolls. */
  readonly scroller: RefObject<HTMLElement | null>;
  readonly keyAt: (index: number) => string;
  /** Pixels of a row that was not measured yet. */
  readonly rowPx: number;
}

const OVERSCAN_ROWS = 12;

/** Returns the virtualizer; the component is drawn again when other rows come into view. */
export function useVirtualList(options: VirtualListOptions): RowVirtualizer {
  const [, draw] = useReducer((times: number, _: void) => times + 1, 0);
  const all = {
    count: options.count,
    getScrollElement: () => options.scroller.current,
    estimateSize: () => options.rowPx,
    getItemKey: options.keyAt,
    overscan: OVERSCAN_ROWS,
    observeElementRect,
    observeElementOffset,
    measureElement,
    scrollToFn: elementScroll,
    onChange: () => draw(),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(all));
  virtualizer.setOptions(all);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer;
}
