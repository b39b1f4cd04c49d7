// SPDX-License-Identifier: Apache-2.0
// Bytes as text.
/** Also with the letters that need no escape in an address. */
export function fromBase64(text: string): Uint8Array {
  const raw = atob(text.replace(/-/g, '+').replace(/_/g, '/'));
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}
