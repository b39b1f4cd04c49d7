// SPDX-License-Identifier: Apache-2.0
// A sheet of one's own over the shipped one: checked as one types, errors at their place, and what
// differs from the shipped sheet.
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { EditorView, hoverTooltip, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef, useState } from 'preact/hooks';
import { errorText, firstError, type EngineError } from './engine';
import { filesOf, SHEET_FILE, wordsOf, type Doc } from './document';
import type { Store } from './store';
import { useAnswer, useStore } from './use';

const language = StreamLanguage.define({
  name: 'sheet',
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/#.*/)) return 'comment';
    if (stream.sol() ? stream.match(/[\w.-]+(?=:)/) : stream.match(/[\w-]+(?=:( |$))/))
      return 'propertyName';
    if (stream.match(/"(\\.|[^"])*"|'[^']*'/)) return 'string';
    if (stream.match(/\[[^\]]*\]/)) return 'unit';
    if (stream.match(/\d+(\.\d+)?([eE][+-]?\d+)?/)) return 'number';
    if (stream.match(/\b(and|or|not|true|false)\b/)) return 'keyword';
    if (stream.match(/[A-Za-z_]\w*(?=\()/)) return 'macroName';
    if (stream.match(/[A-Za-z_]\w*/)) return 'variableName';
    stream.next();
    return 'operator';
  },
});
const colors = HighlightStyle.define([
  { tag: tags.comment, color: 'var(--faint)' },
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--c1)' },
  { tag: tags.unit, color: 'var(--c2)' },
  { tag: tags.number, color: 'var(--c3)' },
  { tag: tags.keyword, fontWeight: 'bold' },
  { tag: tags.macroName, color: 'var(--c4)' },
]);

export const templateOf = (base: string): string =>
  `sheet: mine\ntitle: My changes\ninclude: [${base}]\ncells:\n`;

const plainText = /^[\w\s+*/()<>=.,-]+$/;
const quoted = (text: string): string =>
  plainText.test(text) && !/^\s|\s$|^[-?]/.test(text) ? text : JSON.stringify(text);

/** The sheet with an override of a cell at its end, to be edited. */
export function withOverride(
  sheet: string,
  cell: { name: string; unit: string; formula: string; doc: string },
): string {
  if (new RegExp(`^  ${cell.name}:`, 'm').test(sheet)) return sheet;
  const rows = [
    `  ${cell.name}:`,
    '    override: true',
    `    unit: ${quoted(cell.unit)}`,
    `    is: ${quoted(cell.formula.replace(/\s+/g, ' '))}`,
    `    doc: ${quoted(cell.doc)}`,
  ];
  const text = sheet.endsWith('\n') ? sheet : `${sheet}\n`;
  return /^cells:/m.test(text)
    ? text.replace(/^cells:.*\n/m, (line) => `${line}${rows.join('\n')}\n`)
    : `${text}cells:\n${rows.join('\n')}\n`;
}

/** What the editor shows of an error of the sheet, at its place. */
function diagnosticOf(error: EngineError, state: EditorState): Diagnostic | null {
  if (error.line < 1 || error.line > state.doc.lines) return null;
  const line = state.doc.line(error.line);
  const from = Math.min(line.from + Math.max(0, error.column - 1), line.to);
  const word = /^[\w.[\]]+/.exec(line.text.slice(from - line.from));
  return {
    from,
    to: Math.max(from, Math.min(line.to, from + (word?.[0].length ?? 1))),
    severity: error.severity === 'error' ? 'error' : 'warning',
    message: errorText({ ...error, line: 0 }),
  };
}

interface Shown {
  cells: { name: string; unit: string; formula: string }[];
}
const shipped = new Map<string, Promise<Shown>>();

async function cellsOf(store: Store, sheet: string, files: Record<string, string>): Promise<Shown> {
  const { answer } = await store.side.run(['sheet', 'show', sheet, '--json'], files);
  if (answer.text === null) throw new Error(firstError(answer));
  return JSON.parse(answer.text) as Shown;
}

function Difference({ base }: { base: string }) {
  const [store, state] = useStore();
  const { doc } = state;
  const { value, error } = useAnswer(async () => {
    if (doc.sheet === null) return null;
    if (!shipped.has(base)) shipped.set(base, cellsOf(store, base, {}));
    const theirs = new Map((await shipped.get(base))?.cells.map((cell) => [cell.name, cell]));
    const mine = await cellsOf(store, SHEET_FILE, filesOf(doc));
    const { answer } = await store.side.run(
      [...wordsOf(['compare'], { ...doc, sheet: null }), '--sheet-b', SHEET_FILE, '--json'],
      filesOf(doc),
    );
    const rows = answer.text
      ? (
          JSON.parse(answer.text) as {
            rows: { kind: string; name: string; a: number; b: number; unit: string }[];
          }
        ).rows
      : [];
    return {
      formulas: mine.cells
        .filter((cell) => theirs.get(cell.name)?.formula !== cell.formula)
        .map((cell) => ({
          name: cell.name,
          mine: cell.formula,
          theirs: theirs.get(cell.name)?.formula ?? null,
        })),
      rows,
    };
  }, [doc, base]);
  if (error) return <p class="note">{error}</p>;
  if (!value) return null;
  return (
    <>
      <h3>Difference to {base}</h3>
      {value.formulas.length === 0 && <p>No formula differs.</p>}
      {value.formulas.map((one) => (
        <dl key={one.name} class="changed-formula">
          <dt>{one.name}</dt>
          {one.theirs !== null && (
            <dd>
              <del>{one.theirs}</del>
            </dd>
          )}
          <dd>
            <ins>{one.mine}</ins>
          </dd>
        </dl>
      ))}
      {value.rows.length > 0 && (
        <p class="note">
          {value.rows.filter((row) => row.kind === 'cell').length} numbers of the report change.
        </p>
      )}
    </>
  );
}

export function SheetTab() {
  const [store, state] = useStore();
  const at = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const turn = useRef(0);
  const [errors, setErrors] = useState<string[]>([]);
  const [checking, setChecking] = useState(false);
  const [base, setBase] = useState(
    state.doc.sheet === null ? (state.shape?.name ?? '') : baseOf(state.doc.sheet),
  );
  const text = state.doc.sheet ?? templateOf(state.shape?.name ?? '');
  const own = useRef(text); // what the editor brought last

  const check = async (sheet: string): Promise<void> => {
    const mine = ++turn.current;
    if (sheet === templateOf(baseOf(sheet))) {
      // Nothing of one's own yet, or not any more.
      setChecking(false);
      setErrors([]);
      own.current = sheet;
      view.current?.dispatch(setDiagnostics(view.current.state, []));
      if (store.state.doc.sheet !== null) store.change({ ...store.state.doc, sheet: null });
      return;
    }
    setChecking(true);
    const said: EngineError[] = [];
    let failed: string | null = null;
    const doc: Doc = { ...store.state.doc, sheet };
    try {
      const first = await store.side.run(['sheet', 'check', SHEET_FILE], { ...filesOf(doc) });
      said.push(...first.answer.errors);
      // The whole estimate, too, in the worker: what takes all memory takes the worker's.
      if (first.answer.ok) {
        const whole = await store.side.run([...wordsOf(['estimate'], doc), '--csv'], filesOf(doc));
        if (!whole.answer.ok) said.push(...whole.answer.errors);
      }
    } catch (reason) {
      failed = reason instanceof Error ? reason.message : String(reason);
    }
    if (mine !== turn.current) return;
    setChecking(false);
    const faults = said.filter((one) => one.severity === 'error' && one.message !== '');
    setErrors([...faults.map(errorText), ...(failed ? [failed] : [])]);
    if (view.current)
      view.current.dispatch(
        setDiagnostics(
          view.current.state,
          said
            .map((one) =>
              one.file?.endsWith(SHEET_FILE) ? diagnosticOf(one, view.current!.state) : null,
            )
            .filter((one) => one !== null),
        ),
      );
    if (
      faults.length === 0 &&
      failed === null &&
      sheet !== store.state.doc.sheet &&
      sheet.trim() !== ''
    ) {
      setBase(baseOf(sheet));
      own.current = sheet;
      if (!store.change(doc)) setErrors([store.state.refused?.text ?? '']);
    }
  };

  useEffect(() => {
    if (!at.current) return;
    let timer = 0;
    const changed = EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      clearTimeout(timer);
      timer = window.setTimeout(() => void check(update.state.doc.toString()), 250);
    });
    const meaning = hoverTooltip((editor, position) => {
      const word = editor.state.wordAt(position);
      const name = word ? editor.state.sliceDoc(word.from, word.to) : '';
      const cell =
        store.state.report?.cells.find((one) => one.name === name) ??
        store.state.report?.inputs.find((one) => one.name === name);
      if (!word || !cell) return null;
      return {
        pos: word.from,
        end: word.to,
        create: () => {
          const dom = document.createElement('div');
          dom.textContent = `${name} [${cell.unit}] ${'doc' in cell ? cell.doc : cell.key}`;
          return { dom };
        },
      };
    });
    view.current = new EditorView({
      parent: at.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          history(),
          lintGutter(),
          language,
          syntaxHighlighting(colors),
          keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': 'Your sheet' }),
          changed,
          meaning,
        ],
      }),
    });
    return () => {
      clearTimeout(timer);
      view.current?.destroy();
    };
  }, []);

  // Another sheet came from outside: undo, a link, "edit this formula".
  useEffect(() => {
    const editor = view.current;
    if (!editor || text === own.current) return;
    own.current = text;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [text]);

  return (
    <>
      <p class="note">
        A sheet of your own includes the shipped one and overrides cells; units are checked as you
        type. Escape, then Tab leaves the editor.
      </p>
      <div class="editor" ref={at} />
      <div class="buttons">
        <span role="status">
          {checking
            ? 'Checking…'
            : errors.length > 0
              ? `${errors.length} error${errors.length > 1 ? 's' : ''}`
              : 'No errors'}
        </span>
        {state.doc.sheet !== null && (
          <button onClick={() => store.change({ ...state.doc, sheet: null })}>
            Back to the shipped sheet
          </button>
        )}
      </div>
      {errors.map((one) => (
        <p class="wrong" role="alert" key={one}>
          {one}
        </p>
      ))}
      {state.doc.sheet !== null && base !== '' && <Difference base={base} />}
    </>
  );
}

const baseOf = (sheet: string): string => /^include:\s*\[?\s*([\w.-]+)/m.exec(sheet)?.[1] ?? '';

/** Puts the formula of a cell into the sheet of one's own. */
export function editFormula(store: Store, cell: string): void {
  const found = store.explanation(cell);
  if (!found.text) return;
  const step = (
    JSON.parse(found.text) as { explanation: { formula: string; unit: string; doc: string | null } }
  ).explanation;
  const { doc, shape } = store.state;
  const sheet = withOverride(doc.sheet ?? templateOf(shape?.name ?? ''), {
    name: cell,
    unit: step.unit,
    formula: step.formula,
    doc: step.doc ?? cell,
  });
  if (sheet === doc.sheet || store.change({ ...doc, sheet })) store.update({ tab: 'sheet' });
}
