// SPDX-License-Identifier: Apache-2.0
// The job: model, cluster, stack and plan. Every key that the sheet reads is a row with its unit; what
// was assumed is grey and can be changed.
import type { ComponentChild } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { firstError } from './engine';
import { emptyDoc, JOB_FILE, setsOf, type Doc } from './document';
import { Breakable, valueText } from './format';
import type { Input, Key, Store } from './store';
import { useStore } from './use';

const GROUPS: { title: string; file: string | null; of: (key: string) => boolean }[] = [
  { title: 'Model', file: 'model', of: (key) => key.startsWith('model.') },
  { title: 'Cluster', file: 'cluster', of: (key) => key.startsWith('cluster.') },
  {
    title: 'Stack',
    file: 'stack',
    of: (key) => key.startsWith('constants.') || key.startsWith('overlap.'),
  },
  { title: 'Plan', file: null, of: () => true },
];
const PLAN_FIRST = [
  'parallel.tp',
  'parallel.pp',
  'parallel.dp',
  'parallel.cp',
  'parallel.ep',
  'batch.global',
  'batch.micro',
  'batch.sequence',
  'recompute',
  'parallel.zero',
  'parallel.sequence_parallel',
  'parallel.virtual_stages',
];

const isAssumed = (input: Input): boolean => input.origin !== 'file' && input.origin !== 'set';

/** The positions of a slider around a value, in the input's unit; none for a value that has no scale. */
function stops(input: Input, key: Key | undefined): number[] {
  const value = input.value;
  if (typeof value !== 'number') return [];
  const whole = key?.kind === 'count';
  const powers =
    input.key.startsWith('parallel.') ||
    input.key === 'batch.micro' ||
    input.key === 'batch.global';
  const list = new Set<number>([value]);
  if (whole && powers) {
    if (key && key.minimum === 0) list.add(0);
    const most = Math.max(64, value * 8);
    for (let step = 1; step <= most; step *= 2) list.add(step);
  } else if (whole) {
    for (let share = 0.25; share < 4.001; share *= 2 ** 0.125)
      list.add(Math.max(key?.minimum ?? 0, Math.round(value * share)));
  } else if (key?.minimum === 0 && key.maximum === 1 && key.kind !== 'quantity') {
    for (let i = 0; i <= 100; i++) list.add(i / 100);
  } else if (value > 0) {
    for (let i = -40; i <= 40; i++) list.add(Number((value * 4 ** (i / 40)).toPrecision(4)));
  }
  return list.size > 1 ? [...list].sort((a, b) => a - b) : [];
}

function written(value: number, unit: string): string {
  return unit === '1' ? String(value) : `${value} ${unit}`;
}

function Row({ input, store }: { input: Input; store: Store }) {
  const key = store.keys.get(input.key);
  const { doc, refused } = store.state;
  const given = doc.sets.find(([path]) => path === input.key)?.[1];
  const shown =
    given ??
    (typeof input.value === 'number'
      ? written(input.value, input.unit)
      : valueText(input.value, input.unit));
  const [text, setText] = useState(shown);
  const [places, setPlaces] = useState<number[]>([]); // while it is touched they stay
  const moving = useRef(false);
  const id = `key-${input.key}`;
  useEffect(() => {
    setText(shown);
    if (!moving.current) setPlaces(stops(input, key));
  }, [shown, input.value]);
  const commit = (value: string): void => {
    if (value.trim() === '') setText(shown);
    else if (value !== shown) store.setKey(input.key, value.trim());
  };
  const wrong = refused?.key === input.key ? refused.text : null;
  const doc_ = key?.doc ?? '';
  const label = input.key.replace(/^(model|cluster|constants|parallel)\./, '');
  let control;
  if (typeof input.value === 'boolean')
    control = (
      <input
        id={id}
        type="checkbox"
        checked={input.value}
        onChange={(event) => store.setKey(input.key, String(event.currentTarget.checked))}
      />
    );
  else if (key?.kind === 'enum' && key.values)
    control = (
      <select
        id={id}
        value={String(input.value)}
        onChange={(event) => store.setKey(input.key, event.currentTarget.value)}
      >
        {key.values.split(' ').map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    );
  else
    control = (
      <input
        id={id}
        type="text"
        value={text}
        spellcheck={false}
        autocomplete="off"
        aria-invalid={wrong !== null}
        aria-describedby={wrong ? `${id}-wrong` : undefined}
        onInput={(event) => setText(event.currentTarget.value)}
        onBlur={(event) => commit(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') commit(event.currentTarget.value);
          if (event.key === 'Escape') setText(shown);
        }}
      />
    );
  const value = typeof input.value === 'number' ? input.value : 0;
  const at = places.reduce(
    (best, one, i) => (Math.abs(one - value) < Math.abs((places[best] ?? 0) - value) ? i : best),
    0,
  );
  return (
    <div
      class={`row ${isAssumed(input) ? 'assumed' : ''} ${given !== undefined ? 'changed' : ''}`}
      data-key={input.key}
    >
      <label for={id} title={doc_ + (input.source ? ` (${input.source})` : '')}>
        <Breakable text={label} />
      </label>
      {control}
      {given !== undefined ? (
        <button
          class="small"
          title="Take the job's own value again"
          aria-label={`Reset ${input.key}`}
          onClick={() => store.setKey(input.key, null)}
        >
          ×
        </button>
      ) : (
        <span />
      )}
      {places.length > 1 && (
        <input
          type="range"
          min={0}
          max={places.length - 1}
          step={1}
          value={at}
          aria-label={`${input.key} slider`}
          aria-valuetext={shown}
          onInput={(event) => {
            moving.current = true;
            const place = places[Number(event.currentTarget.value)];
            if (place !== undefined) store.slide(input.key, written(place, input.unit));
          }}
          onChange={() => {
            moving.current = false;
            store.rest();
          }}
        />
      )}
      {wrong && (
        <p class="wrong" id={`${id}-wrong`} role="alert">
          {wrong}
        </p>
      )}
    </div>
  );
}

/** Inputs with the values of the document, which are newer than the last report. */
function current(inputs: Input[], doc: Doc): Input[] {
  return inputs.map((input) => {
    const set = doc.sets.find(([key]) => key === input.key)?.[1];
    if (set === undefined || typeof input.value !== 'number') return input;
    const number = Number.parseFloat(set);
    return set === written(number, input.unit) ? { ...input, value: number, origin: 'set' } : input;
  });
}

const LONGEST_SHOWN = 1 << 16; // a browser lays out all lines of a text that is edited
const LONGEST_READ = 4 << 20;

function Paste({ store, close }: { store: Store; close: () => void }) {
  const [text, setText] = useState('');
  const [error, setError] = useState<string | null>(null);
  const isShown = text.length <= LONGEST_SHOWN;
  const take = (whole: string): void => {
    const isRead = whole.length <= LONGEST_READ;
    setText(isRead ? whole : '');
    setError(isRead ? null : 'the text is larger than 4 MB');
  };
  const [busy, setBusy] = useState(false);
  const use = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const isJob = !text.trimStart().startsWith('{');
      let job = text;
      if (!isJob) {
        const kept = setsOf(store.state.doc).filter((one) => !/^(model|stack)[.=]/.test(one));
        const { answer } = await store.side.run(['import', 'hf', 'config.json'], {
          'config.json': text,
        });
        if (!answer.ok || answer.text === null) throw new Error(firstError(answer));
        job = answer.text + planOf(store, kept);
      }
      if (store.change({ job: '', text: job, sets: [], sheet: store.state.doc.sheet })) close();
      else setError(store.state.refused?.text ?? 'the job cannot be opened');
    } catch (reason) {
      setError(reason instanceof Error ? reason.message : String(reason));
    }
    setBusy(false);
  };
  return (
    <div class="paste">
      <label for="paste-text">
        A Hugging Face <code>config.json</code>, or a job in YAML
      </label>
      <textarea
        id="paste-text"
        rows={7}
        value={isShown ? text : ''}
        placeholder={isShown ? '' : `${Math.round(text.length / 1024)} kB, too long to be shown`}
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
        onPaste={(event) => {
          const whole = event.clipboardData?.getData('text') ?? '';
          if (whole.length <= LONGEST_SHOWN) return;
          event.preventDefault();
          take(whole);
        }}
      />
      <div class="buttons">
        <input
          type="file"
          aria-label="Open a file"
          accept=".json,.yaml,.yml,application/json"
          onChange={async (event) => {
            const file = event.currentTarget.files?.[0];
            if (!file) return;
            if (file.size > LONGEST_READ) setError('the file is larger than 4 MB');
            else take(await file.text());
          }}
        />
        <button disabled={busy || text.trim() === ''} onClick={() => void use()}>
          {busy ? 'Reading…' : 'Use it'}
        </button>
        <button onClick={close}>Cancel</button>
      </div>
      {error && (
        <p class="wrong" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

/** Cluster, batch and plan of the open job, for a model that has none. */
function planOf(store: Store, sets: string[]): string {
  const inputs = store.state.report?.inputs ?? [];
  const value = (key: string): string => {
    const set = sets.find((one) => one.startsWith(`${key}=`));
    const input = inputs.find((one) => one.key === key);
    return set ? set.slice(key.length + 1) : String(input?.value ?? 1);
  };
  const lines = [`cluster: ${store.state.report?.job.cluster ?? 'dgx-h100'}`];
  for (const [section, keys] of [
    ['batch', ['global', 'micro', 'sequence']],
    ['parallel', ['tp', 'pp', 'dp']],
  ] as const)
    lines.push(
      `${section}: {${keys.map((key) => `${key}: ${value(`${section}.${key}`)}`).join(', ')}}`,
    );
  return `\n${lines.join('\n')}\nrecompute: ${value('recompute')}\n`;
}

export function JobPanel() {
  const [store, state] = useStore();
  const [pasting, setPasting] = useState(false);
  const [find, setFind] = useState('');
  const { report, doc } = state;
  const inputs = current(report?.inputs ?? [], doc);
  const wanted = find.trim().toLowerCase();
  const made = useRef(new Map<string, { sign: string; row: ComponentChild }>());
  // A row that would look the same is the same: a slider redraws its own alone.
  const rowOf = (input: Input): ComponentChild => {
    const given = doc.sets.find(([key]) => key === input.key)?.[1] ?? '';
    const refused = state.refused?.key === input.key ? state.refused.text : '';
    const sign = JSON.stringify([input.value, input.unit, input.origin, given, refused]);
    const old = made.current.get(input.name);
    if (old?.sign === sign) return old.row;
    const row = <Row key={input.key} input={input} store={store} />;
    made.current.set(input.name, { sign, row });
    return row;
  };
  const groups = GROUPS.map((group) => ({ ...group, inputs: [] as Input[] }));
  for (const input of inputs) groups.find((group) => group.of(input.key))?.inputs.push(input);
  const chosen = (file: string): string => {
    const set = doc.sets.find(([key]) => key === file)?.[1];
    const job = report?.job;
    return (
      set ??
      (file === 'model' ? job?.model : file === 'cluster' ? job?.cluster : job?.stack?.name) ??
      ''
    );
  };
  const names = {
    model: store.names.models,
    cluster: store.names.clusters,
    stack: store.names.stacks,
  };
  return (
    <section class="panel job" aria-label="Job">
      <div class="row-head">
        <label for="job-name">Job</label>
        <select
          id="job-name"
          value={doc.text === null ? doc.job : ''}
          onChange={(event) =>
            event.currentTarget.value !== '' &&
            store.change({ ...emptyDoc(event.currentTarget.value), sheet: doc.sheet })
          }
        >
          {doc.text !== null && <option value="">your own ({JOB_FILE})</option>}
          {doc.text === null && !store.names.jobs.some((one) => one.name === doc.job) && (
            <option value={doc.job}>{doc.job}</option>
          )}
          {store.names.jobs.map((job) => (
            <option key={job.name} value={job.name}>
              {job.title || job.name}
            </option>
          ))}
        </select>
        <button aria-expanded={pasting} onClick={() => setPasting(!pasting)}>
          Paste…
        </button>
      </div>
      {pasting && <Paste store={store} close={() => setPasting(false)} />}
      <input
        class="find"
        type="search"
        placeholder="Find a key"
        aria-label="Find a key"
        value={find}
        onInput={(event) => setFind(event.currentTarget.value)}
      />
      {groups.map(({ title, file, inputs: all }) => {
        const some = all.filter(
          (input) =>
            wanted === '' ||
            input.key.includes(wanted) ||
            (store.keys.get(input.key)?.doc ?? '').toLowerCase().includes(wanted),
        );
        const given = some.filter((input) => !isAssumed(input));
        const assumed = some.filter(isAssumed);
        if (file === null) given.sort((a, b) => rank(a.key) - rank(b.key));
        return (
          <details key={title} class="group" open={title === 'Plan' || wanted !== ''}>
            <summary>
              <h2>{title}</h2>
              <span>{file ? chosen(file) || 'none' : sizesOfPlan(inputs)}</span>
            </summary>
            {file && (
              <div class="row whole">
                <label for={`file-${file}`}>{title}</label>
                <select
                  id={`file-${file}`}
                  value={chosen(file)}
                  onChange={(event) => store.setKey(file, event.currentTarget.value)}
                >
                  {!names[file as 'model'].some((one) => one.name === chosen(file)) && (
                    <option value={chosen(file)}>{chosen(file) || 'none'}</option>
                  )}
                  {names[file as 'model'].map((one) => (
                    <option key={one.name} value={one.name}>
                      {one.title || one.name}
                    </option>
                  ))}
                </select>
                {state.refused?.key === file && (
                  <p class="wrong" role="alert">
                    {state.refused.text}
                  </p>
                )}
              </div>
            )}
            {given.map(rowOf)}
            {assumed.length > 0 && (
              <Folded title={`${assumed.length} assumed`} open={wanted !== ''}>
                {() => assumed.map(rowOf)}
              </Folded>
            )}
          </details>
        );
      })}
    </section>
  );
}

const rank = (key: string): number => {
  const at = PLAN_FIRST.indexOf(key);
  return at < 0 ? PLAN_FIRST.length : at;
};

const sizesOfPlan = (inputs: Input[]): string =>
  ['tp', 'pp', 'dp']
    .map((size) => `${size} ${inputs.find((one) => one.key === `parallel.${size}`)?.value ?? 1}`)
    .join(' · ');

/** Rows that are made once they are seen. */
function Folded({
  title,
  open,
  children,
}: {
  title: string;
  open: boolean;
  children: () => preact.ComponentChildren;
}) {
  const [seen, setSeen] = useState(open);
  return (
    <details
      class="folded"
      open={open || seen}
      onToggle={(event) => setSeen(event.currentTarget.open)}
    >
      <summary>{title}</summary>
      {(open || seen) && children()}
    </details>
  );
}
