// SPDX-License-Identifier: Apache-2.0
// Where the page begins: unpacks the engine, opens the first job and draws everything.
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Answers } from './answers';
import { Explanation } from './explain';
import { SearchTab, SweepTab } from './explore_tabs';
import { JobPanel } from './job_panel';
import { Lessons, readLesson, type Lesson } from './lesson';
import { Store, type Packed } from './store';
import { CompareTab, ExportTab, ReportTab, TimelineTab, TrafficTab } from './tabs';
import { cannotStart } from './start';
import { findLate, unpackBlock } from './text';
import { StoreContext, useStore } from './use';

const findSheetTab = () => findLate().then(() => import('./sheet_tab'));

function LateSheetTab() {
  const [part, setPart] = useState<Awaited<ReturnType<typeof findSheetTab>> | null>(null);
  useEffect(() => void findSheetTab().then(setPart), []);
  return part && <part.SheetTab />;
}

const TABS: { id: string; title: string; part: () => preact.ComponentChildren }[] = [
  { id: 'report', title: 'All numbers', part: () => <ReportTab /> },
  { id: 'traffic', title: 'Traffic', part: () => <TrafficTab /> },
  { id: 'timeline', title: 'Timeline', part: () => <TimelineTab /> },
  { id: 'sweep', title: 'Sweep', part: () => <SweepTab /> },
  { id: 'search', title: 'Search', part: () => <SearchTab /> },
  { id: 'compare', title: 'Compare', part: () => <CompareTab /> },
  { id: 'sheet', title: 'Sheet', part: () => <LateSheetTab /> },
  { id: 'export', title: 'Export', part: () => <ExportTab /> },
];

function Tabs() {
  const [store, state] = useStore(({ tab }) => [tab]);
  const choose = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const at = TABS.findIndex((tab) => tab.id === state.tab);
    const next = TABS[(at + step + TABS.length) % TABS.length];
    if (!next) return;
    store.update({ tab: next.id });
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  const shown = TABS.find((tab) => tab.id === state.tab) ?? TABS[0];
  return (
    <div class="tabs">
      <div role="tablist" aria-label="Views" onKeyDown={choose}>
        {TABS.map((tab) => (
          <button
            key={tab.id}
            id={`tab-${tab.id}`}
            role="tab"
            aria-selected={tab === shown}
            aria-controls="tab-body"
            tabIndex={tab === shown ? 0 : -1}
            onClick={() => store.update({ tab: tab.id })}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div
        role="tabpanel"
        id="tab-body"
        aria-labelledby={`tab-${shown?.id}`}
        tabIndex={-1}
        key={shown?.id}
      >
        {shown?.part()}
      </div>
    </div>
  );
}

/** A model or a cluster that the job describes itself has no name. */
const nameOf = (name: string | null, what: string): string =>
  name === null || name === 'inline' ? `your own ${what}` : name;

function Header({ learn, learning }: { learn: () => void; learning: boolean }) {
  const [store, state] = useStore(({ report, past, future, pin }) => [report, past, future, pin]);
  const [shared, setShared] = useState('');
  const [theme, setTheme] = useState(store.theme());
  useEffect(() => store.setTheme(theme), [theme]);
  const share = (): void => {
    const link = store.link();
    history.replaceState(null, '', link);
    const address = location.href;
    void navigator.clipboard?.writeText(address).then(
      () => setShared('Link copied'),
      () => setShared('The link is in the address bar'),
    );
    if (!navigator.clipboard) setShared('The link is in the address bar');
    setTimeout(() => setShared(''), 4000);
  };
  return (
    <header>
      <h1>steptime</h1>
      <span class="what">
        {state.report
          ? `${nameOf(state.report.job.model, 'model')} on ${nameOf(state.report.job.cluster, 'cluster')}`
          : ''}
      </span>
      <div class="buttons" role="toolbar" aria-label="Page">
        <button
          onClick={() => store.undo()}
          disabled={state.past.length === 0}
          title="Undo (Ctrl+Z)"
        >
          Undo
        </button>
        <button
          onClick={() => store.redo()}
          disabled={state.future.length === 0}
          title="Redo (Ctrl+Shift+Z)"
        >
          Redo
        </button>
        <button
          onClick={() => store.pin()}
          aria-pressed={state.pin !== null}
          title="Every later change shows its difference to this estimate"
        >
          {state.pin ? 'Unpin' : 'Pin'}
        </button>
        <button onClick={share}>Share</button>
        <button onClick={() => print()}>Print</button>
        <button onClick={learn} aria-pressed={learning}>
          Lessons
        </button>
        <select
          aria-label="Colours"
          value={theme}
          onChange={(event) => setTheme(event.currentTarget.value)}
        >
          <option value="auto">System</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </select>
      </div>
      <span role="status">{shared}</span>
    </header>
  );
}

/** The answer while a key is changed, on a screen that has no room for both. */
function Now() {
  const { shape, values } = useStore(({ shape, values }) => [shape, values])[1];
  const fit = shape?.bars.find((bar) => bar.limit);
  const [total, limit] = [values.get(fit?.total ?? ''), values.get(fit?.limit ?? '')];
  return (
    <div class="now" aria-hidden="true">
      <strong>{values.get('@step')?.text}</strong>
      {total && limit && (
        <span class={(total.value ?? 0) <= (limit.value ?? 0) ? 'fits' : 'exceeds'}>
          {total.text} of {limit.text}
        </span>
      )}
    </div>
  );
}

function Page({ lessons, references }: { lessons: Lesson[]; references: Record<string, string> }) {
  const [store, state] = useStore(({ notice }) => [notice]);
  const [learning, setLearning] = useState(false);
  useEffect(() => {
    const keys = (event: KeyboardEvent): void => {
      const typing =
        event.target instanceof HTMLElement &&
        event.target.matches(
          'input[type=text], input[type=search], input:not([type]), textarea, [contenteditable], [contenteditable] *',
        );
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'z' || typing) return;
      event.preventDefault();
      if (event.shiftKey) store.redo();
      else store.undo();
    };
    const followed = (): void => {
      if (location.hash.length > 1 && location.hash !== store.link()) store.follow(location.hash);
    };
    addEventListener('keydown', keys);
    addEventListener('hashchange', followed);
    return () => {
      removeEventListener('keydown', keys);
      removeEventListener('hashchange', followed);
    };
  }, [store]);
  return (
    <>
      <Header learn={() => setLearning(!learning)} learning={learning} />
      {state.notice && (
        <div class="notice" role="alert">
          <span>{state.notice}</span>
          <button onClick={() => store.update({ notice: null })} aria-label="Dismiss">
            ×
          </button>
        </div>
      )}
      <main>
        <Now />
        <JobPanel />
        <section class="middle" aria-label="Answer">
          <Answers />
          <Tabs />
        </section>
        <div class="side">
          {learning && <Lessons lessons={lessons} close={() => setLearning(false)} />}
          <Explanation
            references={references}
            edit={(cell) => void findSheetTab().then(({ editFormula }) => editFormula(store, cell))}
          />
        </div>
      </main>
      <footer>
        steptime {store.packed.version}. Everything is computed in this page; nothing leaves it.
      </footer>
    </>
  );
}

const dataOf = (id: string): string => document.getElementById(id)?.textContent ?? '';

async function begin(): Promise<void> {
  const root = document.getElementById('root');
  if (!root) return;
  try {
    if (typeof WebAssembly !== 'object') throw new Error('this browser has no WebAssembly');
    const { engine } = window as unknown as { engine: Promise<WebAssembly.Module> };
    const [wasm, worker] = await Promise.all([engine, unpackBlock('worker')]);
    const built = JSON.parse(dataOf('built')) as {
      version: string;
      references: Record<string, string>;
      lessons: string[];
    };
    const own = JSON.parse(dataOf('own')) as Omit<Packed, 'version'>;
    const store = new Store(wasm, new TextDecoder().decode(worker), {
      ...own,
      version: built.version,
    });
    store.setTheme(store.theme());
    await store.start(location.hash);
    const lessons = [...(own.lessons?.map((one) => one.text) ?? []), ...built.lessons].map(
      readLesson,
    );
    root.replaceChildren();
    render(
      <StoreContext.Provider value={store}>
        <Page lessons={lessons} references={built.references} />
      </StoreContext.Provider>,
      root,
    );
    (window as unknown as { steptime: Store }).steptime = store;
    requestAnimationFrame(() => setTimeout(() => store.findNames())); // once numbers are drawn
  } catch (error) {
    cannotStart(error);
  }
}

void begin();
