// SPDX-License-Identifier: Apache-2.0
// Numbers for people. Texts with units come from the engine; this is what words replace there.
import type { Cell } from './engine';

const WORDS = ['1', '1/s', 'h', 'day'];

/** Four significant digits; large ones in thousands without exponent. */
export function plain(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value !== 0 && (Math.abs(value) >= 1e15 || Math.abs(value) < 1e-4))
    return value.toExponential(3);
  const digits = Math.abs(value) >= 1e4 ? Math.round(value) : Number(value.toPrecision(4));
  return String(digits);
}

/** "29.13 s", "105.5", "300 G": of an answer whose label names what is counted. */
export function answerText(cell: Cell, label: string | null): string {
  if (cell.value === null) return '–';
  if (label === null || !WORDS.includes(cell.unit)) return cell.text;
  let value = Number.parseFloat(cell.text);
  const perBase = { h: 3600, day: 86400 }[cell.unit];
  if (perBase) value = cell.value / perBase;
  else if (cell.unit === '1' || cell.unit === '1/s') value = cell.value;
  const prefixes = ['', 'M', 'G', 'T'];
  let scale = 0;
  while (scale < 3 && Math.abs(value) >= (scale === 0 ? 1e6 : 1e3)) {
    value /= scale === 0 ? 1e6 : 1e3;
    scale++;
  }
  return plain(value) + (scale > 0 ? ` ${prefixes[scale]}` : '');
}

/** "+12 %" against another value; null where it says nothing. */
export function difference(
  now: number | null | undefined,
  then: number | null | undefined,
): string | null {
  if (now == null || then == null) return null;
  if (now === then) return '±0 %';
  if (then === 0) return null;
  const percent = 100 * (now / then - 1);
  const text =
    Math.abs(percent) < 0.05
      ? percent.toPrecision(1)
      : percent.toFixed(Math.abs(percent) < 10 ? 1 : 0);
  return `${percent > 0 ? '+' : ''}${text} %`;
}

/** "3.818 s", "60.47 ms". */
export const seconds = (value: number): string =>
  Math.abs(value) < 1 && value !== 0 ? `${plain(value * 1e3)} ms` : `${plain(value)} s`;

/** A value of a JSON result: "29.13 s", "full", "yes". */
export function valueText(value: number | string | boolean | null, unit: string): string {
  if (value === null) return '–';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return value;
  if (unit === 'ms' && Math.abs(value) >= 1e3) return seconds(value / 1e3);
  return unit === '1' ? plain(value) : `${plain(value)} ${unit}`;
}

/** A name such as "cluster.gpu.memory", whose lines end behind a point or a low line. */
export function Breakable({ text }: { text: string }) {
  return (
    <>
      {text.split(/(?<=[._])/).map((part, i) => (
        <>
          {i > 0 && <wbr />}
          {part}
        </>
      ))}
    </>
  );
}
