/** Field ids and codes of parquet.thrift, as far as they are written. */

/** What a footer says of its writer. */
export const CREATED_BY = "svc";

export const ENCODING = { plain: 0, runs: 3, deltas: 5, lengths: 6, places: 8 } as const;
export const CODEC = { none: 0, zstd: 6 } as const;

export const PAGE = {
  type: 1,
  plainBytes: 2,
  bytes: 3,
  crc: 4,
  data: 5,
  dataValues: 1,
  dataEncoding: 2,
  dataDefinitionLevels: 3,
  dataRepetitionLevels: 4,
  dictionary: 7,
  dictionaryValues: 1,
  dictionaryEncoding: 2,
  typeData: 0,
  typeDictionary: 2,
} as const;

export const FILE = {
  version: 1,
  schema: 2,
  rows: 3,
  groups: 4,
  metadata: 5,
  /** Fields of an entry of the metadata. */
  metadataKey: 1,
  metadataValue: 2,
  createdBy: 6,
  columnOrders: 7,
  /** The order of a column is that of its type. */
  orderOfType: 1,
} as const;

export const ELEMENT = {
  type: 1,
  repetition: 3,
  name: 4,
  children: 5,
  convertedType: 6,
  fieldId: 9,
  logicalType: 10,
} as const;

export const REPETITION = { required: 0, optional: 1 } as const;
export const TYPE = { bool: 0, int: 1, long: 2, double: 5, bytes: 6 } as const;
export const CONVERTED = { utf8: 0, micros: 10 } as const;
export const LOGICAL = {
  string: 1,
  timestamp: 8,
  timestampIsUtc: 1,
  timestampUnit: 2,
  unitMicros: 2,
} as const;

export const GROUP = {
  chunks: 1,
  plainBytes: 2,
  rows: 3,
  offset: 5,
  bytes: 6,
  ordinal: 7,
} as const;

export const CHUNK = {
  offset: 2,
  metadata: 3,
  offsetIndexOffset: 4,
  offsetIndexLength: 5,
  columnIndexOffset: 6,
  columnIndexLength: 7,
} as const;

export const METADATA = {
  type: 1,
  encodings: 2,
  path: 3,
  codec: 4,
  values: 5,
  plainBytes: 6,
  bytes: 7,
  dataOffset: 9,
  dictionaryOffset: 11,
  statistics: 12,
  encodingStats: 13,
  statsPageType: 1,
  statsEncoding: 2,
  statsCount: 3,
} as const;

export const STATISTICS = { nulls: 3, max: 5, min: 6 } as const;

export const COLUMN_INDEX = { nullPages: 1, mins: 2, maxs: 3, order: 4, nulls: 5 } as const;
export const ORDER = { none: 0, ascending: 1 } as const;
export const OFFSET_INDEX = { pages: 1, offset: 1, bytes: 2, firstRow: 3 } as const;
