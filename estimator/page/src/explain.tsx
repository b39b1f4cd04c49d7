// SPDX-License-Identifier: Apache-2.0
// The explanation of a number, one level at a time: the formula typeset, with values, and what it
// reads, down to the job's keys and the paper's equation.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { firstError } from './engine';
import { Breakable, difference, valueText } from './format';
import type { State, Store } from './store';
import { useStore, useTex } from './use';

export interface Step {
  kind: 'cell' | 'function' | 'input';
  name: string;
  value: number | string | boolean | null;
  unit: string;
  doc: string | null;
  cite: string | null;
  formula?: string | null;
  numbers?: string | null;
  provider?: string | null;
  refusal?: string | null;
  key?: string | null;
  origin?: string;
  source?: string | null;
  place?: string | null;
  assumption?: boolean;
  operands?: Step[];
}

/** Plain brackets around what needs none that grow, so that a line may end inside of them. */
function inLines(tex: string): string {
  const low = /\\left\(((?:(?!\\left|\\right|\\frac|\\begin|\\sqrt|\\sum|\\prod)[^])*)\\right\)/g;
  let found = tex;
  for (let last = ''; last !== found;) {
    last = found;
    found = found.replace(low, '($1)');
  }
  return `\\displaystyle ${found}`;
}

/** TeX of the engine as mathematics. */
function Tex({ tex }: { tex: string }) {
  const at = useTex<HTMLDivElement>(inLines(tex));
  return <div class="tex" ref={at} tabIndex={0} role="group" aria-label="formula" />;
}

/** The full reference of "li2024 eq. 6". */
function Cite({ cite, references }: { cite: string; references: Record<string, string> }) {
  const parts = cite.split(';').map((one) => one.trim());
  return (
    <ul class="cite">
      {parts.map((part) => (
        <li key={part}>
          <strong>{part}</strong>
          {references[part.split(' ')[0] ?? ''] && <> {references[part.split(' ')[0] ?? '']}</>}
        </li>
      ))}
    </ul>
  );
}

function Operand({ step, store, state }: { step: Step; store: Store; state: State }) {
  const open = (): void => {
    if (step.kind === 'function') return;
    store.explain(step.name, [...state.path, state.cell ?? '']);
  };
  return (
    <li class={step.assumption ? 'assumed' : ''}>
      {step.kind === 'function' ? (
        <span class="name">{step.name}</span>
      ) : (
        <button class="name" onClick={open}>
          <Breakable text={step.name} />
        </button>
      )}
      <span class="value">{valueText(step.value, step.unit)}</span>
      <span class="doc">
        {step.doc}
        {step.kind === 'input' && step.assumption ? ' (assumed)' : ''}
      </span>
    </li>
  );
}

export function Explanation({
  references,
  edit,
}: {
  references: Record<string, string>;
  edit: (cell: string) => void;
}) {
  const [store, state] = useStore(({ cell, values, asks }) => [cell, values, asks]);
  const { cell, values, asks } = state;
  const [from, setFrom] = useState<number | null>(null); // where one was before the page scrolled
  const first = useRef(asks);
  useEffect(() => {
    const panel = document.querySelector('.explain');
    if (asks === first.current || !panel) return;
    first.current = asks;
    const { top } = panel.getBoundingClientRect();
    if (top >= 0 && top < innerHeight - 150) return;
    if (from === null) setFrom(scrollY);
    panel.scrollIntoView({ block: 'start' });
  }, [asks]);
  const back = (): void => {
    scrollTo(0, from ?? 0);
    setFrom(null);
  };
  const [answer, setAnswer] = useState<Step | string | null>(null);
  const asked = useRef<string | null>(null);
  useEffect(() => {
    const find = (): void => {
      if (cell === null || values.size === 0) return;
      const found = store.explanation(cell);
      setAnswer(
        found.text
          ? (JSON.parse(found.text) as { explanation: Step }).explanation
          : firstError(found),
      );
    };
    // Another cell at once; other values when the slider rests.
    const timer = setTimeout(find, asked.current === cell ? 80 : 0);
    asked.current = cell;
    return () => clearTimeout(timer);
  }, [cell, values]);
  const hasBack = from !== null && scrolls();
  const shown = useMemo(
    () =>
      answer !== null &&
      typeof answer !== 'string' && (
        <Shown step={answer} references={references} edit={edit} back={hasBack ? back : null} />
      ),
    [answer, references, hasBack],
  );
  if (typeof answer === 'string')
    return (
      <section class="panel explain" aria-label="Explanation">
        <p class="wrong" role="alert">
          {answer}
        </p>
      </section>
    );
  return shown;
}

/** Whether the explanation moves with the page: it has no place of its own on a narrow one. */
const scrolls = (): boolean => matchMedia('(max-width: 1100px)').matches;

function Shown({
  step,
  references,
  edit,
  back,
}: {
  step: Step;
  references: Record<string, string>;
  edit: (cell: string) => void;
  back: (() => void) | null;
}) {
  const [store, state] = useStore(({ path, values, doc, pin, cell }) => [
    path,
    pin && values.get(step.name),
    doc.sheet,
    pin,
    cell,
  ]);
  const { path, values, doc, pin } = state;
  const { name, formula, numbers } = useMemo(
    () => ({
      name: store.tex(step.name) ?? '',
      formula: step.formula ? store.tex(step.formula) : null,
      numbers: step.numbers && step.numbers !== step.formula ? store.tex(step.numbers) : null,
    }),
    [step],
  );
  const result = valueText(step.value, step.unit);
  const then = pin?.values.get(step.name)?.value;
  const now = values.get(step.name)?.value;
  const change = pin ? difference(now, then) : null;
  const key = step.key ?? null;
  return (
    <section class="panel explain" aria-label="Explanation">
      <nav class="path" aria-label="From">
        {path.map((one, i) => (
          <button key={i} onClick={() => store.explain(one, path.slice(0, i))}>
            {one}
          </button>
        ))}
      </nav>
      <h2>
        {step.name} <span>= {result}</span>
        {change && <em>{change}</em>}
      </h2>
      <p>{step.doc}</p>
      {formula && <Tex tex={`${name} = ${formula}`} />}
      {numbers && <Tex tex={`= ${numbers}`} />}
      {step.formula && (
        <pre class="source">
          <code>{step.formula}</code>
        </pre>
      )}
      {step.provider && (
        <p class="note">Computed by {step.provider}, which replaces the formula.</p>
      )}
      {step.refusal && <p class="note">{step.refusal}</p>}
      {step.cite && <Cite cite={step.cite} references={references} />}
      {step.kind === 'input' && (
        <p class={step.assumption ? 'assumed' : ''}>
          {key && <button onClick={() => showKey(key)}>{key}</button>}{' '}
          {step.assumption ? 'is assumed' : `is given (${step.origin})`}
          {step.source ? `: ${step.source}` : ''}
        </p>
      )}
      {step.operands && step.operands.length > 0 && (
        <>
          <h3>It reads</h3>
          <ul class="operands">
            {step.operands.map((one, i) => (
              <Operand key={i} step={one} store={store} state={state} />
            ))}
          </ul>
        </>
      )}
      {(step.kind === 'cell' || back) && (
        <div class="buttons">
          {step.kind === 'cell' && (
            <button onClick={() => edit(step.name)}>
              Edit this formula{doc.sheet !== null ? ' in your sheet' : ''}
            </button>
          )}
          {back && <button onClick={back}>Back to where you were</button>}
        </div>
      )}
    </section>
  );
}

/** Opens the panel at a key and puts the cursor there. */
export function showKey(key: string): void {
  const row = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  for (let at = row?.parentElement; at; at = at.parentElement)
    if (at instanceof HTMLDetailsElement) at.open = true;
  if (!row) {
    const find = document.querySelector<HTMLInputElement>('.job .find');
    if (find) {
      find.value = key;
      find.dispatchEvent(new Event('input', { bubbles: true }));
    }
    requestAnimationFrame(() => document.getElementById(`key-${key}`)?.focus());
    return;
  }
  row.scrollIntoView({ block: 'center' });
  document.getElementById(`key-${key}`)?.focus();
}
