/**
 * Places for the services of a graph, in layers from left to right: a caller stands left of whom it
 * calls, unless they call each other in a circle. Within a layer services stand near those that
 * they are joined to, so that few lines cross.
 *
 * Layers by longest paths, without the edges that close a circle; order by four sweeps of
 * barycentres (Sugiyama's method, without its vertices for long edges).
 */

export interface Call {
  readonly parent: string;
  readonly child: string;
  readonly count: number;
}

export interface PlacedService {
  readonly name: string;
  /** From the left, and from the top of the layer. */
  readonly layer: number;
  readonly row: number;
}

export interface GraphLayout {
  readonly services: readonly PlacedService[];
  readonly layers: number;
  /** Services in the fullest layer. */
  readonly rows: number;
}

const SWEEPS = 4;

export function layoutServices(calls: readonly Call[], alone: readonly string[] = []): GraphLayout {
  const names = [...new Set([...calls.flatMap(({ parent, child }) => [parent, child]), ...alone])]
    .sort();
  const down = new Map(names.map((name) => [name, new Set<string>()]));
  for (const { parent, child } of calls) if (parent !== child) down.get(parent)?.add(child);
  const order = withoutCircles(names, down);
  const layerOf = new Map<string, number>();
  for (const name of order) {
    const own = layerOf.get(name) ?? 0;
    layerOf.set(name, own);
    for (const child of down.get(name) ?? []) {
      layerOf.set(child, Math.max(layerOf.get(child) ?? 0, own + 1));
    }
  }
  const layers: string[][] = [];
  for (const name of order) (layers[layerOf.get(name) ?? 0] ??= []).push(name);
  sweep(layers, down);
  return {
    services: layers.flatMap((layer, at) => layer.map((name, row) => ({ name, layer: at, row }))),
    layers: layers.length,
    rows: Math.max(0, ...layers.map(({ length }) => length)),
  };
}

/** Names with callers first; edges back to a caller that is being visited leave `down`. */
function withoutCircles(
  names: readonly string[],
  down: ReadonlyMap<string, Set<string>>,
): readonly string[] {
  const called = new Set([...down.values()].flatMap((children) => [...children]));
  const done: string[] = [];
  const state = new Map<string, "open" | "done">();
  const visit = (name: string) => {
    state.set(name, "open");
    for (const child of [...(down.get(name) ?? [])].sort()) {
      if (state.get(child) === "open") down.get(name)?.delete(child);
      else if (!state.has(child)) visit(child);
    }
    state.set(name, "done");
    done.push(name);
  };
  const roots = names.filter((name) => !called.has(name));
  for (const name of [...roots, ...names]) if (!state.has(name)) visit(name);
  return done.reverse();
}

function sweep(layers: string[][], down: ReadonlyMap<string, ReadonlySet<string>>): void {
  const up = new Map<string, string[]>();
  for (const [parent, children] of down) {
    for (const child of children) up.set(child, [...up.get(child) ?? [], parent]);
  }
  for (let turn = 0; turn < SWEEPS; turn += 1) {
    const place = new Map(
      layers.flatMap((layer) =>
        layer.map((name, row) => [name, (row + 0.5) / layer.length] as const)
      ),
    );
    const neighbours = (name: string) =>
      turn % 2 === 0 ? up.get(name) ?? [] : [...down.get(name) ?? []];
    const sequence = turn % 2 === 0 ? layers : layers.toReversed();
    for (const layer of sequence) {
      const weight = new Map(layer.map((name) => {
        const near = neighbours(name).flatMap((one) => place.get(one) ?? []);
        const own = place.get(name) ?? 0;
        const mean = near.reduce((sum, one) => sum + one, 0) / near.length;
        return [name, near.length === 0 ? own : mean];
      }));
      layer.sort((a, b) => (weight.get(a) ?? 0) - (weight.get(b) ?? 0));
      layer.forEach((name, row) => place.set(name, (row + 0.5) / layer.length));
    }
  }
}
