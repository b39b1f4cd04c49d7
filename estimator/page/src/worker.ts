// SPDX-License-Identifier: Apache-2.0
// Runs verbs in a worker, with an engine of its own: what takes long does not stop the page, and what
// goes wrong does not harm it.
import { Engine, EngineEnded, type Files, type RunAnswer } from './engine';

export interface Task {
  id: number;
  words: string[];
  files: Files;
  /** Files that the verb writes, to be sent back. */
  reads: string[];
}

export type Report =
  | { id: number; kind: 'progress'; text: string }
  | { id: number; kind: 'done'; answer: RunAnswer; files: Files }
  | { id: number; kind: 'ended'; reason: string };

const scope = self as unknown as {
  onmessage: (event: MessageEvent<Task | WebAssembly.Module>) => void;
  postMessage(report: Report): void;
};

let wasm: WebAssembly.Module;
let engine: Engine | null = null;
let current = 0;
let queue = Promise.resolve();

async function work(task: Task): Promise<void> {
  current = task.id;
  try {
    engine ??= await Engine.start(wasm, (text) =>
      scope.postMessage({ id: current, kind: 'progress', text }),
    );
    engine.write(task.files);
    const answer = engine.run(task.words);
    const files: Files = {};
    for (const path of task.reads) {
      const text = engine.read(path);
      if (text !== null) files[path] = text;
    }
    scope.postMessage({ id: task.id, kind: 'done', answer, files });
  } catch (error) {
    if (error instanceof EngineEnded) engine = null;
    scope.postMessage({
      id: task.id,
      kind: 'ended',
      reason: error instanceof Error ? error.message : String(error),
    });
  }
}

scope.onmessage = ({ data }) => {
  if (data instanceof WebAssembly.Module) wasm = data;
  else queue = queue.then(() => work(data));
};
