// SPDX-License-Identifier: Apache-2.0
// The page's side of a worker.
import type { Files, RunAnswer } from './engine';
import type { Report, Task } from './worker';

export interface Outcome {
  answer: RunAnswer;
  files: Files;
}

interface Waiting {
  resolve(outcome: Outcome): void;
  reject(reason: Error): void;
  progress: (text: string) => void;
}

export class Stopped extends Error {}

export class Runner {
  private worker: Worker | null = null;
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  constructor(
    private readonly script: string,
    private readonly wasm: WebAssembly.Module,
  ) {}

  private start(): Worker {
    const url = URL.createObjectURL(new Blob([this.script], { type: 'text/javascript' }));
    const worker = new Worker(url);
    worker.postMessage(this.wasm);
    worker.onmessage = ({ data }: MessageEvent<Report>) => {
      const one = this.waiting.get(data.id);
      if (data.kind === 'progress') {
        one?.progress(data.text);
        return;
      }
      this.waiting.delete(data.id);
      if (data.kind === 'done') one?.resolve({ answer: data.answer, files: data.files });
      else one?.reject(new Error(data.reason));
    };
    worker.onerror = (event) => this.end(new Error(event.message || 'the worker stopped'));
    return worker;
  }

  run(
    words: string[],
    files: Files = {},
    reads: string[] = [],
    progress: (text: string) => void = () => {},
  ): Promise<Outcome> {
    const worker = (this.worker ??= this.start());
    const task: Task = { id: ++this.last, words, files, reads };
    return new Promise((resolve, reject) => {
      this.waiting.set(task.id, { resolve, reject, progress });
      worker.postMessage(task);
    });
  }

  private end(reason: Error): void {
    this.worker?.terminate();
    this.worker = null;
    for (const one of this.waiting.values()) one.reject(reason);
    this.waiting.clear();
  }

  stop(): void {
    this.end(new Stopped('stopped'));
  }
}
