// SPDX-License-Identifier: Apache-2.0
// The state of the page and what changes it. One engine has the estimate open; every change of the
// document is tried there first, and one that it refuses changes nothing but the message.
import {
  Engine,
  EngineEnded,
  errorText,
  firstError,
  type Answer,
  type Cell,
  type EngineError,
} from './engine';
import {
  emptyDoc,
  filesOf,
  jobOf,
  linkOf,
  readLink,
  setsOf,
  SHEET_FILE,
  withKey,
  type Doc,
} from './document';
import { Runner } from './runner';

export interface Key {
  path: string;
  kind: 'count' | 'number' | 'quantity' | 'bool' | 'enum' | 'text';
  unit: string | null;
  values: string | null;
  minimum: number | null;
  maximum: number | null;
  default: string | null;
  doc: string;
}

export interface Part {
  label: string;
  cells: string[];
  hidden: string[];
}

export interface Bar {
  title: string;
  total: string;
  limit: string | null;
  member: string | null;
  members?: string[];
  kind?: string; // of the members
  parts: Part[];
}

export interface AnswerPart {
  label: string | null;
  cell: string;
  inner: string | null;
  line: number;
}

export interface SheetShape extends Answer {
  name: string;
  title: string;
  answer: AnswerPart[];
  bars: Bar[];
  report: { title: string; cells: string[] }[];
}

export interface Input {
  name: string;
  key: string;
  value: number | string | boolean | null;
  unit: string;
  origin: 'file' | 'set' | 'default' | 'sheet' | 'stack';
  source: string | null;
}

export interface Report {
  job: {
    name: string;
    model: string | null;
    cluster: string | null;
    sheet: string;
    stack?: { name: string; title: string } | null;
  };
  error_band: {
    rows: number;
    median: number | null;
    nine_of_ten: number | null;
    gpu: string | null;
  };
  inputs: Input[];
  cells: {
    name: string;
    value: number | string | boolean | null;
    unit: string;
    doc: string;
    cite: string | null;
    section: string;
  }[];
  sensitivity: { name: string; key: string; factor: number; change: number | null; cell: string }[];
  assumptions: Input[];
  fits: boolean | null;
  checks: { that: string; level: string; holds: boolean; message?: string }[];
  warnings: string[];
}

export type Values = ReadonlyMap<string, Cell>;

export interface Pin {
  doc: Doc;
  text: string; // the job as a file
  values: Values;
}

/** What `steptime page` packed, and what the build did. */
export interface Packed {
  version: string;
  job?: string;
  text?: string;
  sheet?: string;
  lessons?: { name: string; text: string }[];
}

export interface State {
  doc: Doc;
  shape: SheetShape | null;
  report: Report | null;
  values: Values;
  pin: Pin | null;
  cell: string | null; // that is explained
  path: string[]; // how one came there
  asks: number; // explanations that the user asked for
  tab: string;
  /** Why the last change was refused, and of which key. */
  refused: { key: string | null; text: string } | null;
  notice: string | null;
  past: Doc[];
  future: Doc[];
}

const MOST_UNDONE = 200;
const SAVED = 'steptime-theme';

export class Store {
  state: State;
  keys = new Map<string, Key>();
  names: Record<'jobs' | 'models' | 'clusters' | 'stacks', { name: string; title: string }[]> = {
    jobs: [],
    models: [],
    clusters: [],
    stacks: [],
  };
  private engine!: Engine;
  private readonly listeners = new Set<() => void>();
  private opened: Doc | null = null; // as the engine has it
  private watched: string[] = [];
  private reporting = 0;
  readonly side: Runner; // pictures, tables, checks
  readonly long: Runner; // sweeps and searches, which can be stopped

  constructor(
    private readonly wasm: WebAssembly.Module,
    worker: string,
    readonly packed: Packed,
  ) {
    this.side = new Runner(worker, wasm);
    this.long = new Runner(worker, wasm);
    this.state = {
      doc: emptyDoc(''),
      shape: null,
      report: null,
      values: new Map(),
      pin: null,
      cell: null,
      path: [],
      asks: 0,
      tab: 'report',
      refused: null,
      notice: null,
      past: [],
      future: [],
    };
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  update(change: Partial<State>): void {
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener();
  }

  // --- opening ---

  async start(fragment: string): Promise<void> {
    this.engine = await Engine.start(this.wasm);
    const first = this.first();
    if (!this.open(first)) this.open(emptyDoc('gpt3-175b-1024xa100'));
    if (fragment.length > 1) this.follow(fragment);
    if (this.state.cell === null && this.state.shape)
      this.update({ cell: this.stepCell(), path: [] });
  }

  /** What can be chosen by name. */
  findNames(): void {
    for (const kind of ['jobs', 'models', 'clusters', 'stacks'] as const) {
      const answer = this.engine.run(['list', kind, '--json']);
      if (answer.ok && answer.text) this.names[kind] = JSON.parse(answer.text)[kind] ?? [];
    }
    this.update({});
  }

  /** What the page opens with: what was packed, or a real job. */
  private first(): Doc {
    const { job, text, sheet } = this.packed;
    return {
      job: text === undefined ? (job ?? 'gpt3-175b-1024xa100') : '',
      text: text ?? null,
      sets: [],
      sheet: sheet ?? null,
    };
  }

  /** Opens what a link holds; a bad one leaves the page as it is, with a message. */
  follow(fragment: string): void {
    try {
      const link = readLink(fragment);
      if (this.change(link.doc)) {
        if (link.cell) this.update({ cell: link.cell, path: [] });
        const other = link.steptime !== this.packed.version;
        if (other)
          this.update({
            notice: `The link is from steptime ${link.steptime || 'of an unknown release'}; this page is ${this.packed.version}, and numbers can differ.`,
          });
      } else {
        this.update({
          notice: `The link's job cannot be opened: ${this.state.refused?.text ?? ''}`,
        });
      }
    } catch (error) {
      this.update({
        notice: `The link cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
      });
    }
  }

  link(): string {
    return linkOf({ doc: this.state.doc, steptime: this.packed.version, cell: this.state.cell });
  }

  /** Runs a call of the engine; a new engine takes the place of one that ended. */
  private guarded(work: () => Answer): Answer {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof EngineEnded)) throw error;
      const last = this.opened;
      this.opened = null;
      void Engine.start(this.wasm).then((engine) => {
        this.engine = engine;
        if (last) this.open(last);
      });
      const failure: EngineError = {
        severity: 'error',
        file: null,
        line: 0,
        column: 0,
        message: error.message,
        found: null,
        expected: null,
        suggestion: null,
      };
      return { ok: false, errors: [failure] };
    }
  }

  /** Opens a document; false, with a message, where the engine refuses it. */
  private open(doc: Doc, key: string | null = null): boolean {
    const answer = this.guarded(() => {
      this.engine.write(filesOf(doc));
      return this.engine.open(jobOf(doc), doc.sheet !== null ? SHEET_FILE : '', setsOf(doc));
    });
    if (!answer.ok) {
      this.update({ refused: { key, text: firstError(answer) } });
      return false;
    }
    this.opened = doc;
    const { shape: before } = this.state;
    const shape = this.readShape();
    const sameSheet = shape.name === before?.name || before === null;
    this.update({ doc, shape, refused: null });
    this.readValues();
    if (!sameSheet && !this.isKnown(this.state.cell))
      this.update({ cell: this.stepCell(), path: [] });
    this.reportSoon();
    return true;
  }

  private readShape(): SheetShape {
    const shape = this.engine.sheet<SheetShape>();
    this.watched = watchedOf(shape);
    return shape;
  }

  private isKnown(cell: string | null): boolean {
    return cell !== null && this.cells([cell])[0]?.name === cell;
  }

  private readValues(): void {
    const answer = this.guarded(() => this.engine.readCells(this.watched)) as { cells?: Cell[] };
    if (!answer.cells) return;
    const { values } = this.state;
    const kept = (cell: Cell): Cell => {
      const old = values.get(cell.asked); // the same object is not drawn again
      return old?.value === cell.value && old.text === cell.text && old.name === cell.name
        ? old
        : cell;
    };
    this.update({ values: new Map(answer.cells.map((cell) => [cell.asked, kept(cell)])) });
  }

  /** The whole report follows when the hand rests: inputs, checks, what matters most. */
  private reportSoon(): void {
    clearTimeout(this.reporting);
    this.reporting = window.setTimeout(() => this.readReport(), 120);
  }

  /** What there is to know of each key; rows of the report ask for it. */
  private findKeys(): void {
    if (this.keys.size > 0) return;
    for (const key of this.engine.keys<Answer & { keys: Key[] }>().keys)
      this.keys.set(key.path, key);
  }

  private readReport(): void {
    this.findKeys();
    const answer = this.guarded(() => this.engine.report()) as Answer & { text?: string };
    if (answer.text) this.update({ report: JSON.parse(answer.text) as Report });
    else this.update({ report: null, refused: { key: null, text: firstError(answer) } });
  }

  // --- changes ---

  /** A change that can be undone. */
  change(doc: Doc, key: string | null = null): boolean {
    const before = this.settled ?? this.state.doc;
    if (!this.open(doc, key)) return false;
    this.settled = null;
    this.update({ past: [...this.state.past, before].slice(-MOST_UNDONE), future: [] });
    return true;
  }

  private settled: Doc | null = null; // before the slider that moves was touched

  /** A key while a slider moves: no history, no report, only the numbers. */
  slide(key: string, value: string): void {
    this.settled ??= this.state.doc;
    const answer = this.guarded(() => this.engine.set([`${key}=${value}`]));
    if (!answer.ok) {
      this.update({ refused: { key, text: firstError(answer) } });
      return;
    }
    this.opened = withKey(this.state.doc, key, value);
    this.update({ doc: this.opened, refused: null });
    this.readValues();
  }

  /** The slider rests. */
  rest(): void {
    if (this.settled === null) return;
    this.update({ past: [...this.state.past, this.settled].slice(-MOST_UNDONE), future: [] });
    this.settled = null;
    this.update({ shape: this.readShape() }); // a job of other sizes can have other parts
    this.readValues();
    this.reportSoon();
  }

  setKey(key: string, value: string | null): boolean {
    return this.change(withKey(this.state.doc, key, value), key);
  }

  undo(): void {
    const { past, future, doc } = this.state;
    const before = past.at(-1);
    if (before && this.open(before))
      this.update({ past: past.slice(0, -1), future: [doc, ...future] });
  }

  redo(): void {
    const { past, future, doc } = this.state;
    const next = future[0];
    if (next && this.open(next)) this.update({ past: [...past, doc], future: future.slice(1) });
  }

  pin(): void {
    const { doc, values, pin } = this.state;
    this.update({ pin: pin === null ? { doc, values, text: this.jobText() } : null });
  }

  // --- questions ---

  stepCell(): string {
    return this.state.values.get('@step')?.name || this.state.shape?.report[0]?.cells[0] || '';
  }

  explain(cell: string, from: string[] = []): void {
    if (cell !== '') this.update({ cell, path: from, asks: this.state.asks + 1 });
  }

  /** The explanation of a cell, two levels deep. */
  explanation(cell: string): Answer & { text?: string } {
    return this.guarded(() => this.engine.explain(cell));
  }

  /** Whether a condition holds for the document, and all its checks. */
  holds(condition: string): Answer & { holds?: boolean } {
    const { doc } = this.state;
    return this.guarded(() =>
      this.engine.holds(condition, jobOf(doc), doc.sheet !== null ? SHEET_FILE : '', setsOf(doc)),
    );
  }

  tex(formula: string): string | null {
    const answer = this.guarded(() => this.engine.tex(formula)) as Answer & { tex?: string };
    return answer.tex ?? null;
  }

  cells(names: string[]): Cell[] {
    return (this.guarded(() => this.engine.readCells(names)) as { cells?: Cell[] }).cells ?? [];
  }

  jobText(): string {
    const answer = this.guarded(() => this.engine.job()) as Answer & { text?: string };
    return answer.text ?? `# ${firstError(answer)}\n`;
  }

  // --- light and dark ---

  theme(): string {
    try {
      return localStorage.getItem(SAVED) ?? 'auto';
    } catch {
      return 'auto'; // a page from disk may have no storage
    }
  }

  setTheme(theme: string): void {
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const show = (): void => {
      document.documentElement.dataset['theme'] =
        theme === 'auto' ? (dark.matches ? 'dark' : 'light') : theme;
    };
    dark.onchange = show;
    show();
    try {
      localStorage.setItem(SAVED, theme);
    } catch {
      return;
    }
  }
}

const ROLES = ['@step', '@mfu', '@memory', '@cost'];

/** Every cell that the page shows at all times. */
function watchedOf(shape: SheetShape): string[] {
  const names = new Set(ROLES);
  for (const part of shape.answer) {
    names.add(part.cell);
    if (part.inner) names.add(part.inner);
  }
  for (const bar of shape.bars) {
    for (const name of [bar.total, bar.limit, bar.member]) if (name) names.add(name);
    for (const part of bar.parts)
      for (const name of [...part.cells, ...part.hidden]) if (name) names.add(name);
  }
  for (const section of shape.report) for (const name of section.cells) names.add(name);
  return [...names];
}

export { errorText };
