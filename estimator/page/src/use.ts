// SPDX-License-Identifier: Apache-2.0
// Hooks that the parts share.
import { createContext, type RefObject } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { State, Store } from './store';
import { findLate } from './text';

export const StoreContext = createContext<Store>(null as unknown as Store);

/** `reads` lists the parts of the state that are used: others may be older, and draw nothing anew. */
export function useStore(reads?: (state: State) => unknown[]): [Store, State] {
  const store = useContext(StoreContext);
  const [state, set] = useState(store.state);
  useEffect(() => {
    const follow = (): void =>
      set((old) => {
        const [before, now] = [reads?.(old), reads?.(store.state) ?? []];
        return before?.every((one, i) => one === now[i]) ? old : store.state;
      });
    follow(); // it may have changed between the drawing and this effect
    return store.subscribe(follow);
  }, [store]);
  return [store, state];
}

/** What `work` finds for the newest `inputs`, once they rest; older answers are dropped. */
export function useAnswer<T>(
  work: () => Promise<T>,
  inputs: unknown[],
  wait = 150,
): { value: T | null; error: string | null; busy: boolean } {
  const [answer, set] = useState<{ value: T | null; error: string | null; busy: boolean }>({
    value: null,
    error: null,
    busy: true,
  });
  const turn = useRef(0);
  useEffect(() => {
    const mine = ++turn.current;
    set((old) => ({ ...old, busy: true }));
    const timer = setTimeout(() => {
      work().then(
        (value) => mine === turn.current && set({ value, error: null, busy: false }),
        (error: unknown) =>
          mine === turn.current &&
          set({
            value: null,
            error: error instanceof Error ? error.message : String(error),
            busy: false,
          }),
      );
    }, wait);
    return () => clearTimeout(timer);
  }, inputs);
  return answer;
}

/** Where TeX becomes mathematics. `trust` is off, so that no text of a job becomes markup. */
export function useTex<E extends HTMLElement>(tex: string): RefObject<E> {
  const at = useRef<E>(null);
  useEffect(() => {
    let shown = true;
    void findLate()
      .then(() => import('katex'))
      .then(({ default: katex }) => {
        if (shown && at.current)
          katex.render(tex, at.current, {
            throwOnError: false,
            trust: false,
            strict: false,
            maxSize: 20,
            maxExpand: 200,
          });
      });
    return () => {
      shown = false;
    };
  }, [tex]);
  return at;
}

/** Hands the user a file. */
export function save(name: string, text: string, type = 'text/plain'): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export const pictureOf = (svg: string): string =>
  `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
