// SPDX-License-Identifier: Apache-2.0
// Lessons: Markdown with marked blocks that open a job, bring a sheet, and set tasks that check
// themselves (docs/page.md). A lesson is text: nothing in it becomes HTML.
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { firstError } from './engine';
import { emptyDoc, withKey, type Doc } from './document';
import { useAnswer, useStore, useTex } from './use';

type Block =
  | { kind: 'text'; text: string }
  | { kind: 'heading'; level: number; text: string }
  | { kind: 'list'; items: string[] }
  | { kind: 'code'; text: string }
  | { kind: 'open'; job: string; sets: string[]; sheet: string | null }
  | { kind: 'task'; ask: string; checks: string[]; hint: string | null };

export interface Lesson {
  title: string;
  blocks: Block[];
}

/** The fields of a marked block: "key: value", and lines before the first are its text. */
function fieldsOf(text: string): { text: string; fields: [string, string][] } {
  const fields: [string, string][] = [];
  const rest: string[] = [];
  for (const line of text.split('\n')) {
    const field = /^(job|set|check|hint):\s*(.*)$/.exec(line);
    if (field) fields.push([field[1] ?? '', field[2] ?? '']);
    else if (fields.length > 0 && /^\s/.test(line)) fields.at(-1)![1] += ` ${line.trim()}`;
    else rest.push(line);
  }
  return { text: rest.join(' ').trim(), fields };
}

export function readLesson(source: string): Lesson {
  const blocks: Block[] = [];
  let title = '';
  const lines = source.replaceAll('\r', '').split('\n');
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? '';
    const fence = /^```\s*(.*)$/.exec(line);
    if (fence) {
      const inner: string[] = [];
      for (i++; i < lines.length && !lines[i]?.startsWith('```'); i++) inner.push(lines[i] ?? '');
      const text = inner.join('\n');
      const mark = fence[1]?.trim() ?? '';
      const { text: ask, fields } = fieldsOf(text);
      const all = (name: string): string[] =>
        fields.filter(([key]) => key === name).map(([, value]) => value);
      if (mark === 'steptime open')
        blocks.push({ kind: 'open', job: all('job')[0] ?? '', sets: all('set'), sheet: null });
      else if (mark === 'steptime sheet') {
        const before = blocks.at(-1);
        if (before?.kind === 'open') before.sheet = `${text}\n`;
        else blocks.push({ kind: 'open', job: '', sets: [], sheet: `${text}\n` });
      } else if (mark === 'steptime task')
        blocks.push({ kind: 'task', ask, checks: all('check'), hint: all('hint')[0] ?? null });
      else blocks.push({ kind: 'code', text });
      continue;
    }
    const heading = /^(#+)\s+(.*)$/.exec(line);
    if (heading) {
      if (title === '') title = heading[2] ?? '';
      else blocks.push({ kind: 'heading', level: heading[1]?.length ?? 2, text: heading[2] ?? '' });
    } else if (/^[-*] /.test(line)) {
      const last = blocks.at(-1);
      if (last?.kind === 'list') last.items.push(line.slice(2));
      else blocks.push({ kind: 'list', items: [line.slice(2)] });
    } else if (line.trim() !== '') {
      const last = blocks.at(-1);
      const goesOn = i > 0 && (lines[i - 1] ?? '').trim() !== '';
      if (goesOn && last?.kind === 'text') last.text += ` ${line.trim()}`;
      else if (goesOn && last?.kind === 'list')
        last.items[last.items.length - 1] += ` ${line.trim()}`;
      else blocks.push({ kind: 'text', text: line.trim() });
    }
  }
  return { title: title || 'Lesson', blocks };
}

function InlineTex({ tex }: { tex: string }) {
  return <span ref={useTex<HTMLSpanElement>(tex)} />;
}

/** Code, mathematics and emphasis inside a line. */
function Inline({ text }: { text: string }) {
  const parts: ComponentChildren[] = [];
  for (const piece of text.split(/(`[^`]*`|\$[^$]+\$|\*\*[^*]+\*\*)/)) {
    if (piece.startsWith('`')) parts.push(<code>{piece.slice(1, -1)}</code>);
    else if (piece.startsWith('$') && piece.length > 2)
      parts.push(<InlineTex tex={piece.slice(1, -1)} />);
    else if (piece.startsWith('**') && piece.length > 4)
      parts.push(<strong>{piece.slice(2, -2)}</strong>);
    else parts.push(piece);
  }
  return <>{parts}</>;
}

function Task({
  block,
  opens,
  onDone,
}: {
  block: Extract<Block, { kind: 'task' }>;
  opens: boolean; // a job comes first
  onDone: () => void;
}) {
  const [store, state] = useStore();
  const [hinted, setHinted] = useState(false);
  const { value } = useAnswer(
    async () => {
      for (const check of block.checks) {
        const answer = store.holds(check);
        if (!answer.ok) return { done: false, why: firstError(answer) };
        if (answer.holds !== true) return { done: false, why: null };
      }
      return { done: block.checks.length > 0, why: null };
    },
    [state.doc],
    200,
  );
  const done = value?.done === true;
  useEffect(() => {
    if (done) onDone();
  }, [done]);
  return (
    <div class={`task ${done ? 'done' : ''}`}>
      <p>
        <span class="mark" aria-hidden="true">
          {done ? '✓' : '○'}
        </span>{' '}
        <Inline text={block.ask} />
      </p>
      <p role="status" class="note">
        {done
          ? 'Done.'
          : value?.why
            ? `Not yet: ${opens ? 'open the job above first.' : value.why}`
            : 'Not yet.'}
      </p>
      {!done &&
        block.hint &&
        (hinted ? (
          <p>
            <Inline text={block.hint} />
          </p>
        ) : (
          <button onClick={() => setHinted(true)}>Hint</button>
        ))}
    </div>
  );
}

export function Lessons({ lessons, close }: { lessons: Lesson[]; close: () => void }) {
  const [store, state] = useStore();
  const [at, setAt] = useState(0);
  const [step, setStep] = useState(0); // how many tasks are open
  const [opened, setOpened] = useState(-1); // the lesson whose job was opened
  const lesson = lessons[at];
  const shown = useMemo(() => {
    let tasks = 0;
    const until =
      lesson?.blocks.findIndex((block) => block.kind === 'task' && ++tasks > step) ?? -1;
    return lesson?.blocks.slice(0, until < 0 ? undefined : until + 1) ?? [];
  }, [lesson, step]);
  const open = (block: Extract<Block, { kind: 'open' }>): void => {
    let doc: Doc = { ...emptyDoc(block.job || state.doc.job), sheet: block.sheet };
    for (const set of block.sets) {
      const equal = set.indexOf('=');
      doc = withKey(doc, set.slice(0, equal).trim(), set.slice(equal + 1).trim());
    }
    if (store.change(doc)) {
      setOpened(at);
      store.update({ cell: store.stepCell(), path: [] });
      if (block.sheet !== null) store.update({ tab: 'sheet' });
    }
  };
  return (
    <section class="panel lesson" aria-label="Lesson">
      <div class="row-head">
        <select
          aria-label="Lesson"
          value={at}
          onChange={(event) => {
            setAt(Number(event.currentTarget.value));
            setStep(0);
          }}
        >
          {lessons.map((one, i) => (
            <option key={i} value={i}>
              {one.title}
            </option>
          ))}
        </select>
        <button onClick={close}>Close</button>
      </div>
      {lesson && <h2>{lesson.title}</h2>}
      {shown.map((block, i) => {
        switch (block.kind) {
          case 'text':
            return (
              <p key={i}>
                <Inline text={block.text} />
              </p>
            );
          case 'heading':
            return (
              <h3 key={i}>
                <Inline text={block.text} />
              </h3>
            );
          case 'list':
            return (
              <ul key={i}>
                {block.items.map((item, k) => (
                  <li key={k}>
                    <Inline text={item} />
                  </li>
                ))}
              </ul>
            );
          case 'code':
            return (
              <pre key={i} tabIndex={0}>
                <code>{block.text}</code>
              </pre>
            );
          case 'open':
            return (
              <p key={i}>
                <button onClick={() => open(block)}>Open {block.job || 'the sheet'}</button>
              </p>
            );
          case 'task':
            return (
              <Task
                key={`${at} ${i}`}
                block={block}
                opens={opened !== at && lesson!.blocks.some((one) => one.kind === 'open')}
                onDone={() =>
                  setStep((old) =>
                    Math.max(
                      old,
                      lesson!.blocks
                        .slice(0, lesson!.blocks.indexOf(block) + 1)
                        .filter((one) => one.kind === 'task').length,
                    ),
                  )
                }
              />
            );
        }
      })}
    </section>
  );
}
