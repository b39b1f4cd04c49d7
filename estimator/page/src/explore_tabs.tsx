// SPDX-License-Identifier: Apache-2.0
// Many estimates: a sweep over one key or two, and a search for the best plan. Both run in a worker of
// their own, which a button stops.
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { firstError } from './engine';
import { filesOf, withKey, wordsOf, type Doc } from './document';
import { rowsOf } from './csv';
import { Breakable, plain } from './format';
import { Stopped } from './runner';
import { Wide } from './tabs';
import { save, useStore } from './use';

const MOST_POINTS = 20_000; // that are drawn
const MOST_MAPPED = 2_500;

interface Sweep {
  names: string[];
  keys: number;
  rows: string[][];
  csv: string;
  note: string;
}

/** Runs one task of the long worker at a time. */
function useLong() {
  const [store] = useStore();
  const [progress, setProgress] = useState<{ share: number; text: string } | null>(null);
  const [error, setError] = useState<string | null>(null);
  const start = async <T,>(
    work: (onProgress: (text: string) => void) => Promise<T>,
  ): Promise<T | null> => {
    setError(null);
    setProgress({ share: 0, text: 'computing' });
    try {
      return await work((text) => {
        const share = /(\d+) %/.exec(text);
        if (share)
          setProgress({ share: Number(share[1]) / 100, text: text.replace(/^.*\] */, '') });
      });
    } catch (reason) {
      if (!(reason instanceof Stopped))
        setError(reason instanceof Error ? reason.message : String(reason));
      return null;
    } finally {
      setProgress(null);
    }
  };
  const bar = progress && (
    <div class="progress">
      <progress
        max={1}
        value={progress.share > 0 ? progress.share : undefined}
        aria-label="Progress"
      />
      <span>{progress.text}</span>
      <button onClick={() => store.long.stop()}>Stop</button>
    </div>
  );
  return {
    start,
    bar,
    busy: progress !== null,
    wrong: error && (
      <p class="wrong" role="alert">
        {error}
      </p>
    ),
  };
}

/** A text field of a form behind its label. */
function Field({
  label,
  onType,
  ...field
}: {
  label: string;
  value: string;
  onType: (text: string) => void;
  list?: string;
  placeholder?: string;
  inputMode?: 'numeric';
}) {
  return (
    <label>
      {label} <input {...field} onInput={(event) => onType(event.currentTarget.value)} />
    </label>
  );
}

export function SweepTab() {
  const [store, state] = useStore();
  const [first, setFirst] = useState('batch.micro');
  const [firstValues, setFirstValues] = useState('1..8*2');
  const [second, setSecond] = useState('');
  const [secondValues, setSecondValues] = useState('1..8*2');
  const [cell, setCell] = useState('');
  const [sweep, setSweep] = useState<Sweep | null>(null);
  const long = useLong();
  const shown = cell.trim() !== '' ? cell.trim() : store.stepCell();
  const run = async (): Promise<void> => {
    setSweep(null);
    const axes = [
      [first, firstValues],
      ...(second.trim() !== '' ? [[second, secondValues]] : []),
    ] as const;
    const done = await long.start(async (onProgress) => {
      const said: string[] = [];
      // A key that varies may not be set as well.
      let doc: Doc = state.doc;
      for (const [key] of axes) doc = withKey(doc, key ?? '', null);
      const words = [
        ...wordsOf(['sweep'], doc),
        ...axes.flatMap(([key, values]) => ['--over', `${key}=${values}`]),
        '--cells',
        shown,
        '--sample',
        String(MOST_POINTS + 1),
        '--csv',
        '-o',
        'rows.csv',
      ];
      const { answer, files } = await store.long.run(words, filesOf(doc), ['rows.csv'], (text) => {
        onProgress(text);
        if (/^ *rejected/.test(text)) said.push(text);
      });
      const csv = files['rows.csv'];
      if (csv === undefined) throw new Error(firstError(answer));
      return { csv, note: said.join('; ') };
    });
    if (!done) return;
    const [names = [], ...rows] = rowsOf(done.csv);
    const rejected = Number(/rejected (\d+) of/.exec(done.note)?.[1] ?? 0);
    const all = rows.length + rejected <= MOST_POINTS;
    setSweep({ names, keys: axes.length, rows: all ? rows : [], csv: done.csv, note: done.note });
  };
  return (
    <>
      <datalist id="all-keys">
        {state.report?.inputs.map((input) => (
          <option key={input.name} value={input.key} />
        ))}
      </datalist>
      <datalist id="all-cells">
        {state.report?.cells.map((one) => (
          <option key={one.name} value={one.name} />
        ))}
      </datalist>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <Field label="Key" list="all-keys" value={first} onType={setFirst} />
        <Field label="Values" value={firstValues} onType={setFirstValues} />
        <Field
          label="Second key"
          list="all-keys"
          placeholder="none"
          value={second}
          onType={setSecond}
        />
        <Field label="Values" value={secondValues} onType={setSecondValues} />
        <Field label="Cell" list="all-cells" placeholder={shown} value={cell} onType={setCell} />
        <button disabled={long.busy}>Sweep</button>
      </form>
      <p class="note">
        Values: a list <code>1,2,4</code>, a range <code>1..64*2</code>, <code>1..9+2</code> or
        quantities <code>100..400*2 Gbit/s</code>.
      </p>
      {long.bar}
      {long.wrong}
      {sweep && sweep.rows.length === 0 && (
        <p class="wrong" role="alert">
          The sweep has more rows than the {MOST_POINTS.toLocaleString('en')} that the page draws.
          Narrow the values, or use steptime sweep.
        </p>
      )}
      {sweep &&
        sweep.rows.length > 0 &&
        (sweep.keys === 1 ? <Curve sweep={sweep} /> : <Heat sweep={sweep} />)}
      {sweep && (
        <div class="buttons">
          {sweep.note && <span class="note">{sweep.note}</span>}
          <button onClick={() => save('sweep.csv', sweep.csv, 'text/csv')}>Save CSV</button>
        </div>
      )}
    </>
  );
}

function Curve({ sweep }: { sweep: Sweep }) {
  const at = useRef<HTMLDivElement>(null);
  const words = sweep.rows.map((row) => row[0] ?? '');
  const numbers = words.map((word) => Number.parseFloat(word));
  const named = numbers.some((one) => !Number.isFinite(one)); // names stand in their order
  useEffect(() => {
    if (!at.current) return;
    const style = getComputedStyle(document.documentElement);
    const color = (name: string): string => style.getPropertyValue(name).trim();
    const axis = {
      stroke: color('--text'),
      grid: { stroke: color('--line'), width: 1 },
      ticks: { stroke: color('--line') },
    };
    const x = named ? words.map((_, i) => i) : numbers;
    const y = sweep.rows.map((row) => Number.parseFloat(row[1] ?? ''));
    const wide = !named && Math.min(...x) > 0 && Math.max(...x) / Math.min(...x) >= 16;
    const plot = new uPlot(
      {
        width: Math.max(280, at.current.clientWidth),
        height: 300,
        scales: { x: { time: false, distr: wide ? 3 : 1, ...(wide ? { log: 2 as const } : {}) } },
        axes: [
          {
            ...axis,
            label: sweep.names[0] ?? '',
            ...(named
              ? { values: (_: uPlot, at_: number[]) => at_.map((i) => words[i] ?? '') }
              : {}),
          },
          { ...axis, label: sweep.names[1] ?? '', size: 70 },
        ],
        series: [
          { label: sweep.names[0] ?? '' },
          {
            label: sweep.names[1] ?? '',
            stroke: color('--accent'),
            width: 2,
            points: { show: x.length <= 200 },
          },
        ],
      },
      [x, y],
      at.current,
    );
    return () => plot.destroy();
  }, [sweep]);
  return (
    <>
      <div
        class="curve"
        ref={at}
        role="img"
        aria-label={`${sweep.names[1]} over ${sweep.names[0]}`}
      />
      <details>
        <summary>{sweep.rows.length} rows</summary>
        <table class="plain">
          <thead>
            <tr>
              {sweep.names.map((name) => (
                <th key={name}>{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sweep.rows.slice(0, 500).map((row, i) => (
              <tr key={i}>
                {row.map((field, k) => (
                  <td key={k}>{Number.isFinite(Number(field)) ? plain(Number(field)) : field}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </>
  );
}

/** Rows of the first key, columns of the second; the smallest value is the lightest. */
function Heat({ sweep }: { sweep: Sweep }) {
  const rows = [...new Set(sweep.rows.map((row) => row[0] ?? ''))];
  const columns = [...new Set(sweep.rows.map((row) => row[1] ?? ''))];
  if (rows.length * columns.length > MOST_MAPPED)
    return (
      <p class="wrong" role="alert">
        A map of {rows.length} × {columns.length} values is too large to draw; narrow the values or
        save the rows.
      </p>
    );
  const values = new Map(sweep.rows.map((row) => [`${row[0]}\n${row[1]}`, Number(row[2])]));
  const all = [...values.values()].filter(Number.isFinite);
  const low = Math.min(...all);
  const high = Math.max(...all);
  return (
    <Wide label="Map">
      <table class="heat">
        <caption>{sweep.names[2]}; the least is marked</caption>
        <thead>
          <tr>
            <th>
              {sweep.names[0]} \ {sweep.names[1]}
            </th>
            {columns.map((one) => (
              <th key={one} scope="col">
                {one}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row}>
              <th scope="row">{row}</th>
              {columns.map((column) => {
                const value = values.get(`${row}\n${column}`);
                if (value === undefined)
                  return (
                    <td key={column} class="none" title="rejected by a check">
                      –
                    </td>
                  );
                const share = high > low ? (value - low) / (high - low) : 0;
                return (
                  <td
                    key={column}
                    class={value === low ? 'best' : ''}
                    style={{ '--share': `${Math.round(share * 60)}%` }}
                  >
                    {plain(value)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

interface Plan {
  plan: Record<string, string>;
  fits: boolean;
  replay_s: number | null;
  closed_form_s: number | null;
  cells: Record<string, number | null>;
}
interface Search {
  minimise: string;
  plans: number;
  kept: number;
  by: string;
  ranking: Plan[];
  rejected: { reason: string; plans: number }[];
}

const SIZES = ['parallel.tp', 'parallel.pp', 'parallel.dp'];
const short = (key: string): string => key.replace(/^(parallel|batch)\./, '');
const isOfPlan = (key: string): boolean =>
  key.startsWith('parallel.') || ['batch.micro', 'recompute', 'cluster.nodes'].includes(key);

export function SearchTab() {
  const [store, state] = useStore();
  const gpus = (state.report?.inputs ?? [])
    .filter((one) => ['parallel.tp', 'parallel.pp', 'parallel.dp', 'parallel.cp'].includes(one.key))
    .reduce((product, one) => product * (typeof one.value === 'number' ? one.value : 1), 1);
  const [count, setCount] = useState('');
  const [found, setFound] = useState<Search | null>(null);
  const long = useLong();
  const run = async (): Promise<void> => {
    setFound(null);
    const free = { ...state.doc, sets: state.doc.sets.filter(([key]) => !isOfPlan(key)) };
    const result = await long.start(async (onProgress) => {
      const words = [
        ...wordsOf(['search'], free),
        '--gpus',
        count.trim() || String(gpus),
        '--json',
      ];
      const { answer } = await store.long.run(words, filesOf(free), [], onProgress);
      if (answer.text === null) throw new Error(firstError(answer));
      return JSON.parse(answer.text) as Search;
    });
    if (result) setFound(result);
  };
  const use = (plan: Plan): void => {
    let doc: Doc = { ...state.doc, sets: state.doc.sets.filter(([key]) => !isOfPlan(key)) };
    for (const [key, value] of Object.entries(plan.plan)) doc = withKey(doc, key, value);
    store.change(doc);
  };
  const plans = found?.ranking ?? [];
  const all = [...new Set(plans.flatMap((plan) => Object.keys(plan.plan)))].filter(
    (key) => key !== 'cluster.nodes',
  );
  const isAlike = (key: string): boolean =>
    plans.length > 1 &&
    !SIZES.includes(key) &&
    plans.every((plan) => plan.plan[key] === plans[0]?.plan[key]);
  const keys = all.filter((key) => !isAlike(key));
  const alike = all.filter(isAlike).map((key) => `${short(key)} ${plans[0]?.plan[key] ?? ''}`);
  return (
    <>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <Field
          label="GPUs"
          inputMode="numeric"
          placeholder={String(gpus)}
          value={count}
          onType={setCount}
        />
        <button disabled={long.busy}>Search plans</button>
      </form>
      {long.bar}
      {long.wrong}
      {found && (
        <>
          <p>
            {found.plans.toLocaleString('en')} plans,{' '}
            {found.kept === 0 ? 'none passes' : `${found.kept.toLocaleString('en')} pass`} all
            checks
            {found.kept > 0 &&
              `; the best by ${found.by === 'replay' ? 'the replay of their schedule' : found.minimise}`}
            .
          </p>
          {alike.length > 0 && <p class="note">All of these have {alike.join(', ')}.</p>}
          {found.ranking.length > 0 && (
            <Wide label="Plans">
              <table class="plain">
                <thead>
                  <tr>
                    <th>
                      <span class="unseen">use</span>
                    </th>
                    <th>step</th>
                    {keys.map((key) => (
                      <th key={key}>
                        <Breakable text={short(key)} />
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {found.ranking.map((plan, i) => (
                    <tr key={i}>
                      <td>
                        <button onClick={() => use(plan)} aria-label={`Use plan ${i + 1}`}>
                          Use
                        </button>
                      </td>
                      <th scope="row">
                        {plain(plan.replay_s ?? plan.closed_form_s ?? Number.NaN)} s
                      </th>
                      {keys.map((key) => (
                        <td key={key}>{plan.plan[key] ?? ''}</td>
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
            </Wide>
          )}
          {found.rejected.length > 0 && (
            <details open={found.kept === 0}>
              <summary>Why {found.kept === 0 ? 'they' : 'others'} were rejected</summary>
              <ul>
                {found.rejected.map((one) => (
                  <li key={one.reason}>
                    {one.plans.toLocaleString('en')}: <code>{one.reason}</code>
                  </li>
                ))}
              </ul>
            </details>
          )}
        </>
      )}
    </>
  );
}
