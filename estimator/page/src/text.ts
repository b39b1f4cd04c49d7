// SPDX-License-Identifier: Apache-2.0
// Bytes as text.
import { gunzipSync } from 'fflate';

/** What gzip packed; the browser's own way where it has one takes a third of the time. */
export async function unpack(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof DecompressionStream !== 'function') return gunzipSync(packed);
  const stream = new DecompressionStream('gzip');
  const writer = stream.writable.getWriter();
  const written = writer.write(packed).then(() => writer.close());
  const [buffer] = await Promise.all([new Response(stream.readable).arrayBuffer(), written]);
  return new Uint8Array(buffer);
}

/** What a block of the page holds. */
export const unpackBlock = (id: string): Promise<Uint8Array<ArrayBuffer>> =>
  unpack(fromBase64(document.getElementById(id)?.textContent ?? ''));

/** Runs a block of code. */
export const runBlock = async (id: string): Promise<void> =>
  new Function(new TextDecoder().decode(await unpackBlock(id)))() as void;

let late: Promise<void> | null = null;
/** What numbers do not wait for: the typesetter and the editor (build.mjs). */
export const findLate = (): Promise<void> => (late ??= runBlock('late'));

interface Base64 {
  fromBase64?(text: string): Uint8Array<ArrayBuffer>; // newer than what the page needs
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const { fromBase64: read } = Uint8Array as Base64;
  if (read) return read.call(Uint8Array, text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}
