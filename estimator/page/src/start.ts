// SPDX-License-Identifier: Apache-2.0
// A page that does not start says why.
export function cannotStart(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  const text = document.createElement('p');
  text.className = 'wrong';
  text.setAttribute('role', 'alert');
  text.textContent = `The page cannot start: ${reason}. It needs a browser of 2022 or later with WebAssembly.`;
  document.getElementById('root')?.replaceChildren(text);
}
