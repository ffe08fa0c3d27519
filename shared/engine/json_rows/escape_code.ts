/**
 * A WebAssembly module with one function, which escapes texts as JSON does, sixteen or eight bytes
 * at a time. JavaScript has no such instructions, and takes five times as long.
 *
 * `escape(offsets, count, source, target)` reads `count` texts that lie one after another at
 * `source`. At `offsets` are `count + 1` integers: where each text begins behind `source`, and
 * where the last one ends. It writes their escaped forms one after another at `target`, and into
 * `offsets` where each of these ends behind `target`. Up to 16 bytes behind the texts are read, and
 * up to 16 behind their escaped forms are written.
 *
 * Eight bytes of which some are escaped by a backslash alone are spread by one instruction.
 * `SPREAD` has for each set of such bytes (a bit for each) where the bytes go, and the backslashes.
 * What is below a blank is looked up in `CONTROLS`, byte by byte.
 */

/** Places in the memory. A set of bytes has 32 bytes, a control 8, the last of them its length. */
export const SPREAD = 0;
export const CONTROLS = 8_192;
export const CODE_BYTES = 8_448;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BLANK = 0x20;

const PAGES = 8;
export const MEMORY_BYTES = PAGES * 65_536;

/** Locals: four parameters, six more integers, and a vector. */
const LOCAL = {
  ...{ offsets: 0, count: 1, source: 2, target: 3 },
  ...{ at: 4, end: 5, begin: 6, set: 7, step: 8, byte: 9 },
  bytes: 10,
} as const;
const INTEGERS = 6;
const VECTORS = 1;

type Code = readonly number[];
type Local = keyof typeof LOCAL;

const I32 = 0x7f;
const V128 = 0x7b;
const NOTHING = 0x40;
const VECTOR = 0xfd;
const END = 0x0b;

const get = (local: Local): Code => [0x20, LOCAL[local]];
const set = (local: Local, value: Code): Code => [...value, 0x21, LOCAL[local]];
const constant = (value: number): Code => [0x41, ...signed(value)];

const binary = (...code: Code) => (left: Code, right: Code): Code => [...left, ...right, ...code];
const plus = binary(0x6a);
const minus = binary(0x6b);
const and = binary(0x71);
const or = binary(0x72);
const shifted = binary(0x74);
const isSame = binary(0x46);
const isLess = binary(0x49);
const isMore = binary(0x4b);
const isNotLess = binary(0x4f);
const isZero = (value: Code): Code => [...value, 0x45];
const bitsIn = (value: Code): Code => [...value, 0x69];
const select = (whether: Code, yes: Code, no: Code): Code => [...yes, ...no, ...whether, 0x1b];

const load = (at: Code, offset = 0): Code => [...at, 0x28, 2, ...unsigned(offset)];
const load8 = (at: Code, offset = 0): Code => [...at, 0x2d, 0, ...unsigned(offset)];
const load64 = (at: Code, offset = 0): Code => [...at, 0x29, 0, ...unsigned(offset)];
const store = binary(0x36, 2, 0);
const store8 = binary(0x3a, 0, 0);
const store16 = binary(0x3b, 0, 0);
const store64 = binary(0x37, 0, 0);

const loadVector = (at: Code, offset = 0): Code => [...at, VECTOR, 0, 0, ...unsigned(offset)];
const storeVector = binary(VECTOR, 0x0b, 0, 0);
const all = (value: number): Code => [...constant(value), VECTOR, 0x0f];
/** The bytes of one vector that the other one names. */
const swizzled = binary(VECTOR, 0x0e);
const areSame = binary(VECTOR, 0x23);
const areLess = binary(VECTOR, 0x26);
const orAll = binary(VECTOR, 0x50);
/** A bit for each byte. */
const bitsOf = (vector: Code): Code => [...vector, VECTOR, 0x64];

const when = (whether: Code, yes: Code, no: Code): Code => [
  ...[...whether, 0x04, NOTHING],
  ...[...yes, 0x05],
  ...[...no, END],
];
const asLongAs = (whether: Code, body: Code): Code => [
  ...[0x02, NOTHING, 0x03, NOTHING],
  ...[...isZero(whether), 0x0d, 1],
  ...[...body, 0x0c, 0],
  ...[END, END],
];
const move = (local: Local, by: Code): Code => set(local, plus(get(local), by));

const ESCAPED_BY_BACKSLASH = or(
  isSame(get("byte"), constant(QUOTE)),
  isSame(get("byte"), constant(BACKSLASH)),
);

const ONE_BYTE: Code = [
  ...set("byte", load8(get("at"))),
  ...when(
    isLess(get("byte"), constant(BLANK)),
    [
      ...store64(get("target"), load64(shifted(get("byte"), constant(3)), CONTROLS)),
      ...move("target", load8(shifted(get("byte"), constant(3)), CONTROLS + 7)),
    ],
    when(
      ESCAPED_BY_BACKSLASH,
      [
        ...store16(get("target"), or(shifted(get("byte"), constant(8)), constant(BACKSLASH))),
        ...move("target", constant(2)),
      ],
      [...store8(get("target"), get("byte")), ...move("target", constant(1))],
    ),
  ),
  ...move("at", constant(1)),
];

const LEFT = minus(get("end"), get("at"));
const CONTROL_BYTES = areLess(get("bytes"), all(BLANK));
const lowBits = (bits: Code): Code =>
  and(bits, minus(shifted(constant(1), get("step")), constant(1)));
const spread = (offset: number) => loadVector(shifted(get("set"), constant(5)), SPREAD + offset);

const EIGHT_BYTES: Code = [
  ...set("step", select(isMore(LEFT, constant(8)), constant(8), LEFT)),
  ...set("set", lowBits(get("set"))),
  ...when(
    lowBits(bitsOf(CONTROL_BYTES)),
    ONE_BYTE,
    [
      ...storeVector(get("target"), orAll(swizzled(get("bytes"), spread(0)), spread(16))),
      ...move("target", plus(get("step"), bitsIn(get("set")))),
      ...move("at", get("step")),
    ],
  ),
];

const ESCAPED_BYTES = orAll(
  orAll(areSame(get("bytes"), all(QUOTE)), areSame(get("bytes"), all(BACKSLASH))),
  CONTROL_BYTES,
);

const ONE_TEXT = asLongAs(isLess(get("at"), get("end")), [
  ...set("bytes", loadVector(get("at"))),
  ...set("set", bitsOf(ESCAPED_BYTES)),
  ...when(
    and(isZero(get("set")), isNotLess(LEFT, constant(16))),
    [
      ...storeVector(get("target"), get("bytes")),
      ...move("target", constant(16)),
      ...move("at", constant(16)),
    ],
    EIGHT_BYTES,
  ),
]);

const ALL_TEXTS: Code = [
  ...set("begin", get("target")),
  ...asLongAs(get("count"), [
    ...set("at", plus(get("source"), load(get("offsets")))),
    ...set("end", plus(get("source"), load(get("offsets"), 4))),
    ...ONE_TEXT,
    ...store(get("offsets"), minus(get("target"), get("begin"))),
    ...move("offsets", constant(4)),
    ...move("count", constant(-1)),
  ]),
];

/** Instantiates the module. Its memory is empty but for zeros. */
export function escapeCode(): {
  readonly memory: WebAssembly.Memory;
  readonly escape: (offsets: number, count: number, source: number, target: number) => void;
} {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes()));
  return exports as ReturnType<typeof escapeCode>;
}

function moduleBytes(): Uint8Array<ArrayBuffer> {
  const body = [2, INTEGERS, I32, VECTORS, V128, ...ALL_TEXTS, END];
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 4, I32, I32, I32, I32, 0]),
    ...section(3, [1, 0]),
    ...section(5, [1, 1, PAGES, PAGES]),
    ...section(7, [2, ...named("memory"), 2, 0, ...named("escape"), 0, 0]),
    ...section(10, [1, ...unsigned(body.length), ...body]),
  ]);
}

function section(id: number, content: Code): Code {
  return [id, ...unsigned(content.length), ...content];
}

function named(name: string): Code {
  return [name.length, ...Array.from(name, (letter) => letter.charCodeAt(0))];
}

/** LEB128. */
function unsigned(value: number): Code {
  return value < 128 ? [value] : [value & 127 | 128, ...unsigned(value >>> 7)];
}

function signed(value: number): Code {
  const isLast = value >= -64 && value < 64;
  return isLast ? [value & 127] : [value & 127 | 128, ...signed(value >> 7)];
}
