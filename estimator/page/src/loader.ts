// SPDX-License-Identifier: Apache-2.0
// What the browser reads first: unpacks the page, which is a third as large, and starts it. Threads of
// the browser compile the engine meanwhile.
import { cannotStart } from './start';
import { unpackBlock } from './text';

const engine = unpackBlock('engine').then((wasm) => WebAssembly.compile(wasm));
engine.catch(() => {}); // who waits for it says so
(window as unknown as { engine: Promise<WebAssembly.Module> }).engine = engine;
unpackBlock('page')
  .then((page) => new Function(new TextDecoder().decode(page))() as void)
  .catch(cannotStart); // of a browser that does not know the language, too
