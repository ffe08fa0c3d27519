/** The three shapes by their names. */

import { linesShape } from "./lines_shape.ts";
import type { LogLine } from "./log_lines.ts";
import { servicesShape } from "./services_shape.ts";
import type { Shape, ShapeName } from "./shape.ts";
import { wideShape } from "./wide_shape.ts";

const SHAPES: Readonly<Record<ShapeName, (lines: readonly LogLine[]) => Shape>> = {
  services: servicesShape,
  lines: linesShape,
  wide: wideShape,
};

export const SHAPE_NAMES = Object.keys(SHAPES) as readonly ShapeName[];

export function buildShape(name: ShapeName, lines: readonly LogLine[]): Shape {
  return SHAPES[name](lines);
}
