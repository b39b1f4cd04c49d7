// SPDX-License-Identifier: Apache-2.0
// The engine: steptime in WebAssembly, called with words and answering in JSON (engine.c).
import create, { type EngineModule, type EngineOptions } from 'steptime-engine';

export interface EngineError {
  severity: 'error' | 'warning' | 'limit';
  file: string | null;
  line: number;
  column: number;
  message: string;
  found: string | null;
  expected: string | null;
  suggestion: string | null;
}

export interface Answer {
  ok: boolean;
  errors: EngineError[];
}

export interface RunAnswer extends Answer {
  exit: number;
  text: string | null;
}

export interface Cell {
  asked: string;
  name: string;
  text: string;
  value: number | null;
  unit: string;
}

export type Files = Record<string, string>;

/** The engine ran out of memory or failed; a new one has to take its place. */
export class EngineEnded extends Error {}

/** What of a remedy can be done here: a page has no command line. */
function remedyOf(suggestion: string): string[] {
  return suggestion.split(/,? or /).filter((one) => !/--[a-z]|steptime [a-z]/.test(one));
}

/** One line as the program would print it. */
export function errorText(error: EngineError): string {
  const place = error.line > 0 ? `${error.file ?? ''}:${error.line}:${error.column}: ` : '';
  let text = place + error.message;
  if (error.found) text += `: found ${error.found}`;
  if (error.expected) text += `, expected ${error.expected.replace(/--over/g, 'the sweep')}`;
  const remedy = remedyOf(error.suggestion ?? '');
  if (remedy.length > 0 && remedy[0] !== '')
    text += remedy.every((name) => !name.includes(' '))
      ? `; did you mean ${remedy.map((name) => `'${name}'`).join(' or ')}?`
      : `; ${remedy.join(' or ')}`;
  return text;
}

/** The errors of an answer, or its warnings where it has no errors. */
export function firstError(answer: Answer): string {
  const error = answer.errors.find((one) => one.severity === 'error') ?? answer.errors[0];
  return error ? errorText(error) : 'the engine gives no reason';
}

export class Engine {
  private constructor(private readonly module: EngineModule) {}

  /** `onMessage` gets what a verb writes to standard error, such as its progress. */
  static async start(
    wasm: WebAssembly.Module,
    onMessage: (text: string) => void = () => {},
  ): Promise<Engine> {
    let line = '';
    const stderr = (code: number | null): void => {
      if (code === null || code === 10 || code === 13) {
        if (line !== '') onMessage(line);
        line = '';
      } else {
        line += String.fromCharCode(code);
        if (line.endsWith('left')) onMessage(line);
      }
    };
    const instantiateWasm: EngineOptions['instantiateWasm'] = (imports, done) => {
      void WebAssembly.instantiate(wasm, imports).then(done);
      return {};
    };
    return new Engine(await create({ instantiateWasm, stderr, print: () => {} }));
  }

  private call<T extends Answer>(work: (module: EngineModule) => number): T {
    let answer: T;
    try {
      answer = JSON.parse(this.module.UTF8ToString(work(this.module))) as T;
    } catch (error) {
      throw new EngineEnded(
        error instanceof Error && /memory|alloc/i.test(error.message)
          ? 'out of memory: make the job or the range smaller'
          : `the engine stopped (${error instanceof Error ? error.message : String(error)})`,
      );
    }
    return answer;
  }

  /** Calls `work` with the addresses of the first four words in the engine's memory; the others follow
   * them, each with a 0 at its end. */
  private withWords<T extends Answer>(
    words: string[],
    work: (module: EngineModule, at: [number, number, number, number]) => number,
  ): T {
    return this.call<T>((module) => {
      const texts = words.map((word) => new TextEncoder().encode(word.replaceAll('\0', '') + '\0'));
      const start = module._malloc(texts.reduce((sum, text) => sum + text.length, 1));
      if (start === 0) throw new Error('out of memory');
      const at: [number, number, number, number] = [start, start, start, start];
      let next = start;
      texts.forEach((text, i) => {
        if (i < at.length) at[i] = next;
        module.HEAPU8.set(text, next);
        next += text.length;
        for (let k = i + 1; k < at.length; k++) at[k] = next;
      });
      const result = work(module, at);
      module._free(start);
      return result;
    });
  }

  write(files: Files): void {
    for (const [path, text] of Object.entries(files)) this.module.FS.writeFile(path, text);
  }

  read(path: string): string | null {
    try {
      const text = this.module.FS.readFile(path, { encoding: 'utf8' });
      this.module.FS.unlink(path);
      return text;
    } catch {
      return null;
    }
  }

  run(words: string[]): RunAnswer {
    return this.withWords(words, (module, [at]) => module._page_run(at, words.length));
  }

  open(job: string, sheet: string, sets: string[]): Answer {
    return this.withWords([job, sheet, ...sets], (module, [job_, sheet_, sets_]) =>
      module._page_open(job_, sheet_, sets_, sets.length),
    );
  }

  holds(
    condition: string,
    job: string,
    sheet: string,
    sets: string[],
  ): Answer & { holds?: boolean } {
    return this.withWords(
      [condition, job, sheet, ...sets],
      (module, [condition_, job_, sheet_, sets_]) =>
        module._page_holds(condition_, job_, sheet_, sets_, sets.length),
    );
  }

  set(sets: string[]): Answer {
    return this.withWords(sets, (module, [at]) => module._page_set(at, sets.length));
  }

  readCells(names: string[]): Answer & { cells?: Cell[] } {
    return this.withWords(names, (module, [at]) => module._page_read(at, names.length));
  }

  explain(cell: string): Answer & { text?: string } {
    return this.withWords([cell], (module, [at]) => module._page_explain(at));
  }

  tex(formula: string): Answer & { tex?: string } {
    return this.withWords([formula], (module, [at]) => module._page_tex(at));
  }

  report(): Answer & { text?: string } {
    return this.call((module) => module._page_report());
  }

  job(): Answer & { text?: string } {
    return this.call((module) => module._page_job());
  }

  sheet<T extends Answer>(): T {
    return this.call<T>((module) => module._page_sheet());
  }

  keys<T extends Answer>(): T {
    return this.call<T>((module) => module._page_keys());
  }
}
