// SPDX-License-Identifier: Apache-2.0
// What the page is about: a job, what was changed in it, and a sheet of one's own. A link holds it
// all. Whatever comes from a link is checked here and is text everywhere else, never HTML.
import { deflateSync, inflateSync, strFromU8, strToU8 } from 'fflate';
import { fromBase64 } from './text';

export interface Doc {
  /** A shipped job by name; '' where `text` is the job. */
  readonly job: string;
  readonly text: string | null;
  /** "parallel.tp" and "4"; whole files, such as the model, come first. */
  readonly sets: readonly (readonly [key: string, value: string])[];
  /** A sheet of one's own; null: the job's. */
  readonly sheet: string | null;
}

export const JOB_FILE = 'job.yaml';
export const SHEET_FILE = 'mine.yaml';
const FILES = ['model', 'cluster', 'stack', 'cluster.gpu'];

export const emptyDoc = (job: string): Doc => ({ job, text: null, sets: [], sheet: null });
export const jobOf = (doc: Doc): string => (doc.text !== null ? JOB_FILE : doc.job);
export const setsOf = (doc: Doc): string[] => doc.sets.map(([key, value]) => `${key}=${value}`);

export function filesOf(doc: Doc): Record<string, string> {
  const files: Record<string, string> = {};
  if (doc.text !== null) files[JOB_FILE] = doc.text;
  if (doc.sheet !== null) files[SHEET_FILE] = doc.sheet;
  return files;
}

/** The words of a verb for this job. */
export function wordsOf(verb: string[], doc: Doc): string[] {
  const words = [...verb, jobOf(doc)];
  if (doc.sheet !== null) words.push('--sheet', SHEET_FILE);
  for (const one of setsOf(doc)) words.push('--set', one);
  return words;
}

/** The same with another value of a key; null takes the job's own again. A whole file drops what was
 * set in the one before. */
export function withKey(doc: Doc, key: string, value: string | null): Doc {
  const kept = doc.sets.filter(
    ([other]) => other !== key && !(FILES.includes(key) && other.startsWith(`${key}.`)),
  );
  if (value === null) return { ...doc, sets: kept };
  const set = [key, value] as const;
  return { ...doc, sets: FILES.includes(key) ? [set, ...kept] : [...kept, set] };
}

// --- links ---

const VERSION = 1;
const LONGEST = 1 << 20; // of a fragment, in characters
const LARGEST = 4 << 20; // of what it unpacks to, in bytes

export interface Link {
  doc: Doc;
  /** The release that made it. */
  steptime: string;
  cell: string | null;
}

const toBase64 = (bytes: Uint8Array): string => {
  let text = '';
  for (let i = 0; i < bytes.length; i += 0x8000)
    text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
};

export function linkOf(link: Link): string {
  const { doc } = link;
  const kept = {
    v: VERSION,
    steptime: link.steptime,
    job: doc.job,
    text: doc.text,
    sets: doc.sets,
    sheet: doc.sheet,
    cell: link.cell,
  };
  return '#s' + toBase64(deflateSync(strToU8(JSON.stringify(kept)), { level: 9 }));
}

const isText = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value.length <= most;
const textOrNull = (value: unknown): string | null => {
  if (value === null || value === undefined) return null;
  if (!isText(value, LARGEST)) throw new Error('a text is not one');
  return value;
};

/** Reads a fragment; throws with a reason. */
export function readLink(fragment: string): Link {
  if (!fragment.startsWith('#s')) throw new Error('it is not one of this page');
  if (fragment.length > LONGEST) throw new Error('it is too long');
  let kept: Record<string, unknown>;
  try {
    const packed = fromBase64(fragment.slice(2).replace(/-/g, '+').replace(/_/g, '/'));
    const room = new Uint8Array(LARGEST);
    kept = JSON.parse(strFromU8(inflateSync(packed, { out: room }))) as Record<string, unknown>;
  } catch {
    throw new Error('it is damaged or unpacks to more than 4 MB');
  }
  if (typeof kept !== 'object' || kept === null || typeof kept['v'] !== 'number')
    throw new Error('it holds no job');
  if (kept['v'] > VERSION) throw new Error('a newer steptime made it');
  const sets = Array.isArray(kept['sets']) ? kept['sets'] : [];
  const isSet = (one: unknown): one is [string, string] =>
    Array.isArray(one) && one.length === 2 && isText(one[0], 200) && isText(one[1], 2000);
  if (sets.length > 500 || !sets.every(isSet)) throw new Error('its keys are not understood');
  if (!isText(kept['job'], 200)) throw new Error('it names no job');
  const doc: Doc = {
    job: kept['job'],
    text: textOrNull(kept['text']),
    sets,
    sheet: textOrNull(kept['sheet']),
  };
  return {
    doc,
    steptime: isText(kept['steptime'], 40) ? kept['steptime'] : '',
    cell: isText(kept['cell'], 200) ? kept['cell'] : null,
  };
}
