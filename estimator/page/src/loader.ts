// SPDX-License-Identifier: Apache-2.0
// What the browser reads first: unpacks the page, which is a third as large, and starts it.
import { cannotStart } from './start';
import { fromBase64, unpack } from './text';

unpack(fromBase64(document.getElementById('page')?.textContent ?? ''))
  .then((page) => new Function(new TextDecoder().decode(page))() as void)
  .catch(cannotStart); // of a browser that does not know the language, too
