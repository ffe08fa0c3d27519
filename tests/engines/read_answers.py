"""Reads an answer as Arrow and as Parquet in four ways; prints what each says, as JSON."""

import json, sys, duckdb, pandas, polars, pyarrow.ipc, pyarrow.parquet
arrow, parquet = sys.argv[1:]
def plain(value):
    if isinstance(value, dict): return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)): return [plain(one) for one in value]
    if hasattr(value, 'isoformat'): return value.isoformat()
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
stream = pyarrow.ipc.open_stream(open(arrow, 'rb')).read_all()
stream.validate(full=True)
file = pyarrow.parquet.read_table(parquet)
answer = stream
print(json.dumps({
    'arrow': plain(stream.to_pylist()),
    'parquet': plain(file.to_pylist()),
    'polars_arrow': polars.read_ipc_stream(arrow).select('n', 'words', 'price').rows().__repr__(),
    'polars_parquet': polars.read_parquet(parquet).select('n', 'words', 'price').rows().__repr__(),
    'pandas': plain(pandas.read_parquet(parquet)['n'].tolist()),
    'duckdb_arrow': duckdb.sql('SELECT sum(n), sum(price)::VARCHAR FROM answer').fetchall().__repr__(),
    'duckdb_parquet': plain(duckdb.sql(f"SELECT typeof(price), typeof(happened), typeof(huge), typeof(tags) FROM '{parquet}' LIMIT 1").fetchall()),
}))
