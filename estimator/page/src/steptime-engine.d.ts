// SPDX-License-Identifier: Apache-2.0
declare module 'steptime-engine' {
  export interface EngineModule {
    FS: {
      writeFile(path: string, text: string): void;
      readFile(path: string, options: { encoding: 'utf8' }): string;
      unlink(path: string): void;
    };
    HEAPU8: Uint8Array;
    UTF8ToString(at: number): string;
    _malloc(bytes: number): number;
    _free(at: number): void;
    _page_run(words: number, count: number): number;
    _page_open(job: number, sheet: number, sets: number, count: number): number;
    _page_holds(condition: number, job: number, sheet: number, sets: number, count: number): number;
    _page_set(sets: number, count: number): number;
    _page_read(names: number, count: number): number;
    _page_explain(cell: number): number;
    _page_tex(formula: number): number;
    _page_report(): number;
    _page_job(): number;
    _page_sheet(): number;
    _page_keys(): number;
  }
  export interface EngineOptions {
    instantiateWasm(
      imports: WebAssembly.Imports,
      done: (instance: WebAssembly.Instance) => void,
    ): object;
    stderr: (code: number | null) => void;
    print: (text: string) => void;
  }
  export default function create(options: EngineOptions): Promise<EngineModule>;
}

declare module '*.css';
