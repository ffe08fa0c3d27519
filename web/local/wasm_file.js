// @ts-self-types="./wasm_file.d.ts"
// The build puts the file beside the scripts. Types come from elsewhere: the type check would read
// WebAssembly itself.

export { default } from "@duckdb/duckdb-wasm/dist/duckdb-eh.wasm";
