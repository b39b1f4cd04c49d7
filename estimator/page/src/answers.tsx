// SPDX-License-Identifier: Apache-2.0
// The answer: what the sheet says first, and bars of what it consists of. Every number opens its
// explanation; with a pinned estimate each shows its difference.
import type { Cell } from './engine';
import { answerText, difference } from './format';
import type { Bar, State, Store } from './store';
import { useStore } from './use';

/** A number that opens its explanation. */
export function Number_({
  store,
  state,
  cell,
  text,
}: {
  store: Store;
  state: State;
  cell: Cell | undefined;
  text?: string;
}) {
  if (!cell || cell.name === '') return <span class="number">–</span>;
  const change = state.pin ? difference(cell.value, state.pin.values.get(cell.asked)?.value) : null;
  const words = text ?? (cell.text || '–');
  return (
    <button
      class={`number ${state.cell === cell.name ? 'chosen' : ''}`}
      onClick={() => store.explain(cell.name)}
      title={`Explain ${cell.name}`}
    >
      {words}
      {change && <em class={change.startsWith('+') ? 'up' : 'down'}>{change}</em>}
    </button>
  );
}

function Tiles({ store, state }: { store: Store; state: State }) {
  const { shape, values } = state;
  if (!shape) return null;
  const parts = shape.answer.filter(
    (part) => part.line < 2 && (values.get(part.cell)?.value ?? 0) !== 0,
  );
  const step = values.get('@step');
  // A sheet without a summary says its first number.
  const name = step && step.value !== null ? '@step' : (shape.report[0]?.cells[0] ?? '');
  if (parts.length === 0)
    parts.push({ label: name === '@step' ? 'per step' : name, cell: name, inner: null, line: 0 });
  return (
    <div class="tiles">
      {parts.map((part, i) => {
        const cell = values.get(part.cell);
        const inner = part.inner ? (values.get(part.inner)?.text ?? '') : '';
        const words = (part.label ?? '').replace('{}', '').replace(/\{.*?\}/, inner);
        const label = words.trim() || cell?.name;
        return (
          <div key={part.cell} class={i === 0 ? 'tile first' : 'tile'}>
            {cell && (
              <Number_
                store={store}
                state={state}
                cell={cell}
                text={answerText(cell, part.label)}
              />
            )}
            <span>{label}</span>
          </div>
        );
      })}
      {shape.bars
        .filter((bar) => bar.limit)
        .map((bar) => (
          <Fit key={bar.title} bar={bar} store={store} state={state} />
        ))}
    </div>
  );
}

function Fit({ bar, store, state }: { bar: Bar; store: Store; state: State }) {
  const total = state.values.get(bar.total);
  const limit = bar.limit ? state.values.get(bar.limit) : undefined;
  if (!total || !limit || total.value === null || limit.value === null) return null;
  const fits = total.value <= limit.value;
  return (
    <div class={`tile ${fits ? 'fits' : 'exceeds'}`}>
      <Number_ store={store} state={state} cell={total} />
      <span>
        {fits ? 'fits' : 'does not fit'}: {bar.title.charAt(0).toLowerCase() + bar.title.slice(1)}{' '}
        of {limit.text}
      </span>
    </div>
  );
}

function BarChart({ bar, store, state }: { bar: Bar; store: Store; state: State }) {
  const { values } = state;
  const total = values.get(bar.total);
  const limit = bar.limit ? values.get(bar.limit) : undefined;
  if (!total || total.value === null || !(total.value > 0)) return null;
  const whole = total.value;
  const member = bar.member ? Math.max(0, values.get(bar.member)?.value ?? 0) : 0;
  const rows = bar.parts
    .map((part) => ({
      label: part.label,
      cell: values.get(part.cells[member] ?? part.cells[0] ?? ''),
      hidden: values.get(part.hidden[member] ?? part.hidden[0] ?? ''),
    }))
    .filter(({ cell, hidden }) => Math.max(cell?.value ?? 0, hidden?.value ?? 0) >= 0.0005 * whole);
  const most = limit?.value
    ? Math.max(whole, limit.value)
    : Math.max(
        ...rows.map(({ cell, hidden }) => (cell?.value ?? 0) + (hidden?.value ?? 0)),
        1e-300,
      );
  let start = 0;
  return (
    <figure class="bars">
      <figcaption>
        {bar.title}
        {bar.members?.[member] ? `, ${bar.members[member]} ${bar.kind ?? ''}` : ''}: {total.text}
        {limit ? ` of ${limit.text}` : ''}
      </figcaption>
      <table>
        <thead class="unseen">
          <tr>
            <th>part</th>
            <th>value</th>
            <th>share</th>
            <th>bar</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ label, cell, hidden }, i) => {
            const value = cell?.value ?? 0;
            const left = limit ? start : 0;
            start += Math.max(value, 0);
            return (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td>
                  <Number_ store={store} state={state} cell={cell} />
                </td>
                <td class="share">{Math.round((100 * value) / whole)} %</td>
                <td class="track" aria-hidden="true">
                  <div class="line">
                    <i
                      class={`fill c${i % 8}`}
                      style={{
                        marginLeft: `${(100 * left) / most}%`,
                        width: `${(100 * value) / most}%`,
                      }}
                    />
                    {hidden && (hidden.value ?? 0) > 0 && (
                      <i
                        class="hidden"
                        style={{ width: `${(100 * (hidden.value ?? 0)) / most}%` }}
                      />
                    )}
                    {limit?.value && <b style={{ left: `${(100 * limit.value) / most}%` }} />}
                  </div>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </figure>
  );
}

export function Answers() {
  const [store, state] = useStore();
  const { shape, report, refused } = state;
  const failed = report?.checks.filter((check) => !check.holds) ?? [];
  const band = report?.error_band;
  return (
    <div class="answers">
      {refused && refused.key === null && (
        <p class="wrong" role="alert">
          {refused.text}
        </p>
      )}
      <Tiles store={store} state={state} />
      <p class="unseen" aria-live="polite">
        {state.values.get('@step')?.text ? `Step time ${state.values.get('@step')?.text}` : ''}
      </p>
      {failed.map((check) => (
        <p key={check.that} class={check.level === 'warning' ? 'note' : 'wrong'}>
          {check.message ?? check.that}
        </p>
      ))}
      {band && band.rows > 0 && band.median !== null && (
        <p class="band">
          Estimates like this one were within {Math.round(100 * band.median)} % (median) of{' '}
          {band.rows} measured steps, nine of ten within {Math.round(100 * (band.nine_of_ten ?? 0))}{' '}
          %.
        </p>
      )}
      {shape?.bars.map((bar) => (
        <BarChart key={bar.title} bar={bar} store={store} state={state} />
      ))}
    </div>
  );
}
