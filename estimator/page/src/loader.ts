// SPDX-License-Identifier: Apache-2.0
// What the browser reads first: unpacks the page, which is a third as large, and starts it. Threads of
// the browser compile the engine meanwhile.
import { cannotStart } from './start';
import { runBlock, unpackBlock } from './text';

const engine = unpackBlock('engine').then((wasm) => WebAssembly.compile(wasm));
engine.catch(() => {}); // who waits for it says so
(window as unknown as { engine: Promise<WebAssembly.Module> }).engine = engine;
runBlock('page').catch(cannotStart); // of a browser that does not know the language, too
