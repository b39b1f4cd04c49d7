// SPDX-License-Identifier: Apache-2.0
// What the browser reads first: unpacks the page, which is a third as large, and starts it.
import { gunzipSync, strFromU8 } from 'fflate';
import { cannotStart } from './start';
import { fromBase64 } from './text';

try {
  const packed = document.getElementById('page')?.textContent ?? '';
  new Function(strFromU8(gunzipSync(fromBase64(packed))))();
} catch (error) {
  cannotStart(error); // a browser that does not know the language, too
}
