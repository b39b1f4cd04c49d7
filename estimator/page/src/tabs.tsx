// SPDX-License-Identifier: Apache-2.0
// Other sights of the open job: all numbers, traffic, the timeline, another job, and files of it.
import type { ComponentChildren } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { errorText, firstError } from './engine';
import { filesOf, SHEET_FILE, wordsOf, type Doc } from './document';
import { Number_ } from './answers';
import { Breakable, difference, plain, seconds, valueText } from './format';
import type { Store } from './store';
import { pictureOf, save, useAnswer, useStore } from './use';

const MOST_TASKS = 200; // of the critical path that are listed

/** The text of a verb for a document, by the worker at the side. */
async function textOf(
  store: Store,
  verb: string[],
  doc: Doc,
): Promise<{ text: string; notes: string[] }> {
  const { answer } = await store.side.run(wordsOf(verb, doc), filesOf(doc));
  if (answer.text === null) throw new Error(firstError(answer));
  return { text: answer.text, notes: answer.errors.map(errorText) };
}

/** What scrolls sideways where it is wider than the page. */
export function Wide({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={label}>
      {children}
    </div>
  );
}

function Pending({ busy, error }: { busy: boolean; error: string | null }) {
  if (error)
    return (
      <p class="wrong" role="alert">
        {error}
      </p>
    );
  return busy ? <p class="busy">Computing…</p> : null;
}

export function ReportTab() {
  const [store, state] = useStore(({ shape, values, report, pin, cell }) => [
    shape,
    values,
    report,
    pin,
    cell,
  ]);
  const docs = useMemo(
    () => new Map(state.report?.cells.map((cell) => [cell.name, cell.doc]) ?? []),
    [state.report],
  );
  const made = useRef(new Map<string, { of: unknown[]; row: ComponentChildren }>());
  // A row that would look the same is the same.
  const rowOf = (name: string): ComponentChildren => {
    const cell = state.values.get(name);
    if (!cell || cell.value === null) return null;
    const of = [cell, docs.get(name), state.pin, state.cell === cell.name];
    const old = made.current.get(name);
    if (old?.of.every((one, i) => one === of[i])) return old.row;
    const row = (
      <tr key={name}>
        <th scope="row">
          <Breakable text={name} />
        </th>
        <td class="right">
          <Number_ store={store} state={state} cell={cell} />
        </td>
        <td>{docs.get(name)}</td>
      </tr>
    );
    made.current.set(name, { of, row });
    return row;
  };
  const effects = (state.report?.sensitivity ?? [])
    .filter((one) => one.change !== null && Math.abs(one.change) >= 0.0005)
    .sort((a, b) => Math.abs(b.change ?? 0) - Math.abs(a.change ?? 0))
    .slice(0, 6);
  return (
    <>
      {effects.length > 0 && (
        <section>
          <h3>What 10 % more of a constant changes</h3>
          <table class="plain">
            <tbody>
              {effects.map((one) => (
                <tr key={one.name}>
                  <td class="right">
                    {(one.change ?? 0) > 0 ? '+' : ''}
                    {((one.change ?? 0) * 100).toFixed(1)} %
                  </td>
                  <th scope="row">
                    <button class="name" onClick={() => store.explain(one.name)}>
                      <Breakable text={one.key} />
                    </button>
                  </th>
                  <td>{store.keys.get(one.key)?.doc ?? ''}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {state.shape?.report.map((section) => (
        <section key={section.title}>
          <h3>{section.title}</h3>
          <table class="plain">
            <tbody>{section.cells.map((name) => rowOf(name))}</tbody>
          </table>
        </section>
      ))}
      {state.report?.warnings.map((one) => (
        <p class="note" key={one}>
          {one}
        </p>
      ))}
    </>
  );
}

interface Group {
  kind: string;
  ranks: number;
  groups: number;
  nodes: number;
  sharing: number;
  sent_bytes: number;
  total_bytes: number;
  crossing_bytes: number;
}

export function TrafficTab() {
  const [store, state] = useStore();
  const [kind, setKind] = useState('');
  const { value, error, busy } = useAnswer(async () => {
    const by = kind === '' ? [] : ['--by', kind];
    const words = [...wordsOf(['traffic'], state.doc), ...by, '--json', '--svg', 'map.svg'];
    const { answer, files } = await store.side.run(words, filesOf(state.doc), ['map.svg']);
    if (answer.text === null) throw new Error(firstError(answer));
    return {
      groups: (JSON.parse(answer.text) as { groups: Group[] }).groups,
      map: files['map.svg'] ?? null,
    };
  }, [state.doc, kind]);
  return (
    <>
      <label>
        Kind of traffic{' '}
        <select value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
          <option value="">all</option>
          {['tp', 'cp', 'ep', 'dp', 'pp', 'emb', 'expert_dp'].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <Pending busy={busy} error={error} />
      {value?.map && (
        <img
          class="picture"
          src={pictureOf(value.map)}
          alt="Heat map of the bytes that each rank sends to each other rank"
        />
      )}
      {value && (
        <table class="plain">
          <thead>
            <tr>
              <th>group</th>
              <th>ranks</th>
              <th>groups</th>
              <th>nodes</th>
              <th>a rank sends</th>
              <th>between nodes</th>
            </tr>
          </thead>
          <tbody>
            {value.groups
              .filter((one) => one.ranks > 1)
              .map((one) => (
                <tr key={one.kind}>
                  <th scope="row">{one.kind}</th>
                  <td>{one.ranks}</td>
                  <td>{one.groups}</td>
                  <td>{one.nodes}</td>
                  <td>{bytes(one.sent_bytes)}</td>
                  <td>{bytes(one.crossing_bytes)}</td>
                </tr>
              ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let i = 0;
  while (value >= 1000 && i < units.length - 1) {
    value /= 1000;
    i++;
  }
  return `${plain(value)} ${units[i]}`;
}

interface Term {
  name: string;
  closed_form_s: number;
  replay_s: number;
  why: string | null;
}

interface Timeline {
  schedule: string;
  stages: number;
  micro_batches: number;
  tasks: number;
  step_time_s: number;
  closed_form_s: number;
  difference: number;
  bubble: number | null;
  terms: Term[];
  communication: Term[];
  categories: { name: string; tasks: number; all_ranks_s: number; critical_path_s: number }[];
  critical_path: {
    rank: number;
    task: string;
    category: string;
    edge: string | null;
    start_s: number;
    time_s: number;
  }[];
}

export function TimelineTab() {
  const [store, state] = useStore();
  const [zoom, setZoom] = useState(1);
  const { value, error, busy } = useAnswer(async () => {
    const { answer, files } = await store.side.run(
      [...wordsOf(['timeline'], state.doc), '--json', '--svg', 'step.svg'],
      filesOf(state.doc),
      ['step.svg'],
    );
    if (answer.text === null) throw new Error(firstError(answer));
    return { found: JSON.parse(answer.text) as Timeline, picture: files['step.svg'] ?? null };
  }, [state.doc]);
  const move = (event: KeyboardEvent): void => {
    const box = event.currentTarget as HTMLElement;
    const keys: Record<string, () => void> = {
      w: () => setZoom(Math.min(zoom * 1.5, 64)),
      s: () => setZoom(Math.max(zoom / 1.5, 1)),
      a: () => box.scrollBy(-box.clientWidth / 3, 0),
      d: () => box.scrollBy(box.clientWidth / 3, 0),
    };
    keys[event.key.toLowerCase()]?.();
  };
  return (
    <>
      <Pending busy={busy} error={error} />
      {value && (
        <>
          <p>
            {value.found.schedule}: {value.found.stages} stages, {value.found.micro_batches}{' '}
            micro-batches, {value.found.tasks} tasks. Replay {plain(value.found.step_time_s)} s,
            closed form {plain(value.found.closed_form_s)} s
            {value.found.bubble !== null ? `, bubble ${plain(100 * value.found.bubble)} %` : ''}.
          </p>
          <div class="buttons">
            <button onClick={() => setZoom(Math.min(zoom * 1.5, 64))} aria-label="Zoom in">
              +
            </button>
            <button onClick={() => setZoom(Math.max(zoom / 1.5, 1))} aria-label="Zoom out">
              −
            </button>
            <span class="note">W and S zoom, A and D move</span>
          </div>
          {value.picture && (
            <div class="scroll" tabIndex={0} role="group" aria-label="Timeline" onKeyDown={move}>
              <img
                class="picture"
                style={{ width: `${100 * zoom}%`, maxWidth: 'none' }}
                src={pictureOf(value.picture)}
                alt={`Timeline of a step: ${value.found.stages} stages, ${value.found.micro_batches} micro-batches`}
              />
            </div>
          )}
          <Wide label="Terms of the step">
            <table class="plain">
              <thead>
                <tr>
                  <th>term</th>
                  <th>closed form</th>
                  <th>replay</th>
                  <th>why they differ</th>
                </tr>
              </thead>
              <tbody>
                {[...value.found.terms, ...value.found.communication]
                  .filter((one) => one.closed_form_s !== 0 || one.replay_s !== 0)
                  .map((one) => (
                    <tr key={one.name}>
                      <th scope="row">{one.name}</th>
                      <td class="right">{seconds(one.closed_form_s)}</td>
                      <td class="right">{seconds(one.replay_s)}</td>
                      <td>{one.why}</td>
                    </tr>
                  ))}
              </tbody>
            </table>
          </Wide>
          <Details found={value.found} />
        </>
      )}
    </>
  );
}

/** What the picture is too small for: the time of each kind of task, and the tasks that make the step
 * as long as it is. */
function Details({ found }: { found: Timeline }) {
  return (
    <>
      <details>
        <summary>Kinds of tasks</summary>
        <Wide label="Kinds of tasks">
          <table class="plain">
            <thead>
              <tr>
                <th>kind</th>
                <th>tasks</th>
                <th>all ranks</th>
                <th>critical path</th>
              </tr>
            </thead>
            <tbody>
              {found.categories.map((one) => (
                <tr key={one.name}>
                  <th scope="row">{one.name}</th>
                  <td>{one.tasks}</td>
                  <td>{plain(one.all_ranks_s)} s</td>
                  <td>{plain(one.critical_path_s)} s</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      </details>
      <details>
        <summary>
          Critical path, {Math.min(found.critical_path.length, MOST_TASKS)} of{' '}
          {found.critical_path.length} tasks
        </summary>
        <Wide label="Critical path">
          <table class="plain">
            <thead>
              <tr>
                <th>start</th>
                <th>time</th>
                <th>rank</th>
                <th>task</th>
                <th>kind</th>
                <th>waits for</th>
              </tr>
            </thead>
            <tbody>
              {found.critical_path.slice(0, MOST_TASKS).map((one, i) => (
                <tr key={i}>
                  <td>{plain(one.start_s)} s</td>
                  <td>{plain(one.time_s)} s</td>
                  <td>{one.rank}</td>
                  <th scope="row">{one.task}</th>
                  <td>{one.category}</td>
                  <td>{one.edge}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      </details>
    </>
  );
}

interface Compared {
  rows: {
    kind: string;
    name: string;
    a: number | string | boolean | null;
    b: number | string | boolean | null;
    unit: string;
  }[];
}

export function CompareTab() {
  const [store, state] = useStore();
  const [other, setOther] = useState('');
  const { pin } = state;
  const chosen = other !== '' ? other : pin ? 'pinned' : '';
  const { value, error, busy } = useAnswer(async () => {
    if (chosen === '') return null;
    const files: Record<string, string> = { 'b.yaml': store.jobText() };
    const words = ['compare', chosen === 'pinned' ? 'a.yaml' : chosen, 'b.yaml', '--json'];
    if (pin && chosen === 'pinned') {
      files['a.yaml'] = pin.text;
      if (pin.doc.sheet !== null) {
        files['theirs.yaml'] = pin.doc.sheet;
        words.push('--sheet-a', 'theirs.yaml');
      }
    }
    if (state.doc.sheet !== null) {
      files[SHEET_FILE] = state.doc.sheet;
      words.push('--sheet-b', SHEET_FILE);
    }
    const { answer } = await store.side.run(words, files);
    if (answer.text === null) throw new Error(firstError(answer));
    return JSON.parse(answer.text) as Compared;
  }, [state.doc, chosen, pin]);
  return (
    <>
      <label>
        Compare with{' '}
        <select value={chosen} onChange={(event) => setOther(event.currentTarget.value)}>
          <option value="">…</option>
          {pin && <option value="pinned">the pinned estimate</option>}
          {store.names.jobs.map((job) => (
            <option key={job.name} value={job.name}>
              {job.title || job.name}
            </option>
          ))}
        </select>
      </label>
      {chosen === '' ? (
        <p class="note">
          Choose a job, or pin this estimate (the button at the top), change something and come
          back.
        </p>
      ) : (
        <Pending busy={busy} error={error} />
      )}
      {value &&
        (value.rows.length === 0 ? (
          <p>Nothing differs.</p>
        ) : (
          <table class="plain">
            <thead>
              <tr>
                <th>name</th>
                <th>{chosen === 'pinned' ? 'pinned' : 'that job'}</th>
                <th>this job</th>
                <th>difference</th>
              </tr>
            </thead>
            <tbody>
              {value.rows.map((row) => (
                <tr key={row.kind + row.name} class={row.kind}>
                  <th scope="row">{row.name}</th>
                  <td>{valueText(row.a, row.unit)}</td>
                  <td>{valueText(row.b, row.unit)}</td>
                  <td>
                    {typeof row.a === 'number' && typeof row.b === 'number'
                      ? difference(row.b, row.a)
                      : ''}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        ))}
    </>
  );
}

const FRAMEWORKS = [
  ['megatron', 'run.sh'],
  ['megatron-bridge', 'recipe.yaml'],
  ['torchtitan', 'run.toml'],
  ['deepspeed', 'ds_config.json'],
] as const;

export function ExportTab() {
  const [store, state] = useStore();
  const [shown, setShown] = useState<{ name: string; text: string; notes: string[] } | null>(null);
  const [error, setError] = useState<string | null>(null);
  const show = (name: string, make: () => Promise<{ text: string; notes?: string[] }>): void => {
    setError(null);
    setShown(null);
    make().then(
      ({ text, notes }) => setShown({ name, text, notes: notes ?? [] }),
      (reason: unknown) => setError(reason instanceof Error ? reason.message : String(reason)),
    );
  };
  const stem = state.report?.job.name.replace(/[^\w.-]/g, '_') ?? 'job';
  return (
    <>
      <div class="buttons">
        <button onClick={() => show(`${stem}.yaml`, async () => ({ text: store.jobText() }))}>
          Job (YAML)
        </button>
        {state.doc.sheet !== null && (
          <button onClick={() => show(SHEET_FILE, async () => ({ text: state.doc.sheet ?? '' }))}>
            Your sheet (YAML)
          </button>
        )}
        <button
          onClick={() =>
            show(`${stem}.json`, () => textOf(store, ['estimate', '--json', '--all'], state.doc))
          }
        >
          Estimate (JSON)
        </button>
        <button
          onClick={() => show(`${stem}.csv`, () => textOf(store, ['estimate', '--csv'], state.doc))}
        >
          Estimate (CSV)
        </button>
      </div>
      <h3>Files that start the training</h3>
      <div class="buttons">
        {FRAMEWORKS.map(([name, file]) => (
          <button key={name} onClick={() => show(file, () => launchOf(store, name))}>
            {name}
          </button>
        ))}
      </div>
      {error && (
        <p class="wrong" role="alert">
          {error}
        </p>
      )}
      {shown && (
        <>
          <div class="buttons">
            <strong>{shown.name}</strong>
            <button onClick={() => save(shown.name, shown.text)}>Save</button>
            <button onClick={() => void navigator.clipboard?.writeText(shown.text)}>Copy</button>
          </div>
          {shown.notes.map((note) => (
            <p class="note" key={note}>
              {note}
            </p>
          ))}
          <pre class="file" tabIndex={0} role="group" aria-label={shown.name}>
            {shown.text.length > 200_000 ? `${shown.text.slice(0, 200_000)}\n…` : shown.text}
          </pre>
        </>
      )}
    </>
  );
}

async function launchOf(
  store: Store,
  framework: string,
): Promise<{ text: string; notes: string[] }> {
  const { answer } = await store.side.run(['export', framework, 'exported.yaml'], {
    'exported.yaml': store.jobText(),
  });
  if (answer.text === null) throw new Error(firstError(answer));
  return { text: answer.text, notes: answer.errors.map(errorText) };
}
