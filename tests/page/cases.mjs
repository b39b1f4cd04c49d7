// SPDX-License-Identifier: Apache-2.0
// What the page does, seen from outside, one case each; see run.mjs.
import assert from 'node:assert/strict';

const first = (page) => page.locator('.tile.first .number').innerText();
const store = (page, work, argument) => page.evaluate(work, argument);

/** Waits until the first number is another one. */
async function changed(page, before) {
  await page.waitForFunction((old) => document.querySelector('.tile.first .number')?.textContent !== old, before);
}

async function tab(page, id) {
  await page.click(`#tab-${id}`);
}

/** Values that a slider or a text may give: not round, so that no missing factor hides. */
const CHANGES = [['batch.micro', '1'], ['batch.micro', '2'], ['batch.micro', '4'], ['parallel.tp', '4'], ['parallel.tp', '2'], ['parallel.pp', '2'], ['cluster.nic_bandwidth', '23.85 GB/s'], ['cluster.nic_bandwidth', '187.5 Gbit/s'], ['cluster.gpu.memory_bandwidth', '1.385 TB/s'], ['batch.sequence', '1536']];

export const cases = {
  'the page opens with a real job and numbers of the program': async ({ open, steptime }) => {
    const begun = Date.now();
    const page = await open();
    const took = Date.now() - begun;
    const estimate = JSON.parse(steptime('estimate', 'gpt3-175b-1024xa100', '--json'));
    assert.equal(await store(page, () => window.steptime.state.values.get('@step').value), estimate.cells[0].value);
    return `first numbers after ${took} ms`;
  },

  'step times of all shipped jobs and changes have the bits of the program': async ({ open, steptime }) => {
    const page = await open();
    const jobs = JSON.parse(steptime('list', 'jobs', '--json')).jobs.map((job) => job.name);
    let compared = 0;
    for (const job of jobs) {
      for (const change of [null, ...CHANGES]) {
        let expected = null;
        const sets = change ? ['--set', `${change[0]}=${change[1]}`] : [];
        try {
          expected = JSON.parse(steptime('estimate', job, ...sets, '--check', 'none', '--json')).cells[0].value;
        } catch {
          expected = null; // the program refuses it, and so does the page
        }
        const found = await store(page, ([name, set]) => {
          const doc = { job: name, text: null, sets: set ? [set] : [], sheet: null };
          if (!window.steptime.change(doc)) return null;
          return window.steptime.cells([window.steptime.state.shape.report[0].cells[0]])[0]?.value ?? null;
        }, [job, change]);
        assert.equal(found, expected, `${job} ${change?.join('=') ?? ''}`);
        compared++;
      }
    }
    return `${compared} settings`;
  },

  'a changed input changes the numbers, and undo brings them back': async ({ open }) => {
    const page = await open();
    const before = await first(page);
    await page.fill('#key-batch\\.micro', '2');
    await page.press('#key-batch\\.micro', 'Enter');
    await changed(page, before);
    assert.equal(await page.locator('#key-batch\\.micro').inputValue(), '2');
    const after = await first(page);
    await page.click('text=Undo');
    await changed(page, after);
    assert.equal(await first(page), before);
    await page.click('text=Redo');
    await changed(page, before);
    assert.equal(await first(page), after);
  },

  'no violation of axe, and no request': async ({ open, axe }) => {
    const page = await open();
    await page.waitForTimeout(500);
    await page.evaluate(axe());
    const { violations } = await page.evaluate(() => window.axe.run());
    assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target).join(' ')}`), []);
  },
};
