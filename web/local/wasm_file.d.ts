/** Name of DuckDB's WebAssembly beside the scripts, with a hash: relative to them. */
declare const name: string;
export default name;
