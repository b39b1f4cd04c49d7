// SPDX-License-Identifier: Apache-2.0
// What the page does, seen from outside, one case each; see run.mjs.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const first = (page) => page.locator('.tile.first .number').innerText();
const store = (page, work, argument) => page.evaluate(work, argument);

/** Waits until the first number is another one. */
async function changed(page, before) {
  await page.waitForFunction(
    (old) => document.querySelector('.tile.first .number')?.textContent !== old,
    before,
  );
}

async function tab(page, id) {
  await page.click(`#tab-${id}`);
}

/** Values that a slider or a text may give: not round, so that no missing factor hides. */
const CHANGES = [
  ['batch.micro', '1'],
  ['batch.micro', '2'],
  ['batch.micro', '4'],
  ['parallel.tp', '4'],
  ['parallel.tp', '2'],
  ['parallel.pp', '2'],
  ['cluster.nic_bandwidth', '23.85 GB/s'],
  ['cluster.nic_bandwidth', '187.5 Gbit/s'],
  ['cluster.gpu.memory_bandwidth', '1.385 TB/s'],
  ['batch.sequence', '1536'],
];

/** Those, and numbers of the job moved by 3.85 %, as many as STEPTIME_CHANGES says. */
function changesOf(inputs) {
  const most = Number(process.env.STEPTIME_CHANGES ?? 16);
  const real = inputs.filter((one) => typeof one.value === 'number' && one.value !== 0);
  const every = Math.max(1, Math.floor(real.length / Math.max(1, most - CHANGES.length)));
  const moved = real.filter((_, i) => i % every === 0);
  const unit = (one) => (one.unit === '1' ? '' : ` ${one.unit}`);
  return [...CHANGES, ...moved.map((one) => [one.key, `${one.value * 1.0385}${unit(one)}`])].slice(
    0,
    most,
  );
}

export const cases = {
  'the page opens with a real job and numbers of the program': async ({ open, steptime }) => {
    const begun = Date.now();
    const page = await open();
    const took = Date.now() - begun;
    const estimate = JSON.parse(steptime('estimate', 'gpt3-175b-1024xa100', '--json'));
    assert.equal(
      await store(page, () => window.steptime.state.values.get('@step').value),
      estimate.cells[0].value,
    );
    return `first numbers after ${took} ms`;
  },

  'inputs that are found before the first frame are drawn': async ({ open }) => {
    const page = await open(undefined, {
      before: () => {
        const later = window.setTimeout;
        window.setTimeout = (work, ms, ...rest) => later(work, ms === 120 ? 0 : ms, ...rest);
        window.requestAnimationFrame = (work) => later(() => work(performance.now()), 90);
      },
    });
    await page.waitForSelector('#key-batch\\.micro');
  },

  'step times of all shipped jobs and changes have the bits of the program': async ({
    open,
    steptime,
  }) => {
    const page = await open();
    const jobs = JSON.parse(steptime('list', 'jobs', '--json')).jobs.map((job) => job.name);
    let compared = 0;
    for (const job of jobs) {
      const inputs = JSON.parse(steptime('estimate', job, '--check', 'none', '--json')).inputs;
      for (const change of [null, ...changesOf(inputs)]) {
        let expected = null;
        const sets = change ? ['--set', `${change[0]}=${change[1]}`] : [];
        try {
          expected = JSON.parse(steptime('estimate', job, ...sets, '--check', 'none', '--json'))
            .cells[0].value;
        } catch {
          expected = null; // the program refuses it, and so does the page
        }
        const found = await store(
          page,
          ([name, set]) => {
            const doc = {
              job: name,
              text: null,
              sets: set ? [set] : [],
              sheet: null,
            };
            if (!window.steptime.change(doc)) return null;
            return JSON.parse(window.steptime.engine.report().text).cells[0].value;
          },
          [job, change],
        );
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

  'a wrong value has its message in place, and the page stays usable': async ({ open }) => {
    const page = await open();
    const before = await first(page);
    await page.fill('#key-batch\\.micro', 'many');
    await page.press('#key-batch\\.micro', 'Enter');
    await page.waitForSelector('[data-key="batch.micro"] .wrong');
    assert.match(await page.locator('[data-key="batch.micro"] .wrong').innerText(), /found 'many'/);
    assert.equal(await first(page), before);
    await page.fill('#key-batch\\.micro', '2');
    await page.press('#key-batch\\.micro', 'Enter');
    await changed(page, before);
    await page.fill('#key-batch\\.micro', ' ');
    await page.press('#key-batch\\.micro', 'Enter');
    await page.waitForFunction(() => document.getElementById('key-batch.micro').value === '2');
    const whole = (input) => input.scrollWidth <= input.clientWidth;
    assert.ok(await page.locator('#key-train\\.tokens').evaluate(whole), 'a long number is whole');
  },

  'a plan that breaks a rule says which, whatever was read before': async ({ open }) => {
    const page = await open();
    for (const tokens of ['15e12', '3e12']) {
      await store(
        page,
        (value) =>
          window.steptime.change({
            ...window.steptime.state.doc,
            sets: [
              ['parallel.tp', '16'],
              ['train.tokens', value],
            ],
          }) && window.steptime.explanation('step_time'),
        tokens,
      );
      await page.waitForFunction(
        (value) =>
          window.steptime.state.report?.inputs.find((one) => one.key === 'train.tokens').value ===
          Number(value),
        tokens,
      );
      const said = await page.locator('.answers .note').allInnerTexts();
      assert.ok(
        said.some((one) => one.includes('groups of 16 ranks span machines of 8 GPUs')),
        said.join(),
      );
    }
  },

  'a slider changes the numbers in a frame': async ({ open, context }) => {
    const page = await open();
    await page.waitForTimeout(500);
    const before = await first(page);
    const cdp = await context.newCDPSession(page);
    await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
    const busy = async () =>
      (await cdp.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration')
        .value;
    const begun = await busy();
    const times = await store(page, async () => {
      const found = [];
      for (let i = 0; i < 60; i++) {
        const begun = performance.now();
        window.steptime.slide('cluster.nic_bandwidth', `${100 + i} GB/s`);
        found.push(performance.now() - begun);
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      }
      window.steptime.rest();
      return found;
    });
    const redraw = ((1e3 * ((await busy()) - begun)) / times.length).toFixed(1);
    const numbers = times.sort((a, b) => a - b)[30].toFixed(1);
    await changed(page, before);
    await page.locator('[data-key="batch.micro"] input[type=range]').focus();
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() =>
      window.steptime.state.doc.sets.some(([key]) => key === 'batch.micro'),
    );
    return `median ${numbers} ms for the numbers, ${redraw} ms of the main thread with redraw`;
  },

  'a number is explained down to the equation and its inputs': async ({ open }) => {
    const page = await open(undefined);
    const bubble = page.locator('.operands li', { hasText: 'T_bubble' }).locator('.value');
    const said = await store(page, () => window.steptime.cells(['T_bubble'])[0].text);
    assert.equal(await bubble.innerText(), said);
    await page.selectOption('#job-name', 'gpt-3b-32x3090');
    await page.waitForFunction(() => window.steptime.state.shape.name === 'li2024');
    await page.click('.bars .number >> nth=1');
    await page.waitForSelector('.explain h2:has-text("T_TP")');
    assert.match(await page.locator('.explain .cite').innerText(), /li2024 eq. 2 Li, Wenxue/);
    assert.ok(
      (await page.locator('.explain .katex').count()) >= 2,
      'formula and numbers are typeset',
    );
    for (const name of ['T_TP_mb', 'C_TP'])
      await page.locator('.operands').getByRole('button', { name, exact: true }).click();
    await page.waitForSelector('.explain h2:has-text("C_TP")');
    await page.click('.explain button:has-text("cluster.bandwidth.tp")');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'key-cluster.bandwidth.tp');
    await page.click('.path button >> nth=0');
    await page.waitForSelector('.explain h2:has-text("T_TP =")');
  },

  'on a phone a number leads to its explanation and back': async ({ open, shoot }) => {
    const page = await open();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.waitForTimeout(300);
    const number = page.locator('.tabs .number >> nth=30');
    await number.scrollIntoViewIfNeeded();
    const before = await page.evaluate(() => scrollY);
    await number.click();
    const top = () =>
      page.locator('.explain h2').evaluate((one) => one.getBoundingClientRect().top);
    await page.waitForFunction((old) => scrollY < old - 300, before);
    assert.ok((await top()) > 0 && (await top()) < 200, `the explanation is at ${await top()}`);
    assert.ok(await page.locator('.now').isVisible());
    await shoot(page, 'phone-explained');
    await page.click('text=Back to where you were');
    await page.waitForFunction((old) => Math.abs(scrollY - old) < 2, before);
    const wide = await page
      .locator('.tex')
      .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length);
    assert.equal(wide, 0, 'formulas fit');
  },

  'a pinned estimate shows the difference of each number': async ({ open }) => {
    const page = await open();
    await page.click('text=Pin');
    await page.fill('#key-batch\\.micro', '2');
    await page.press('#key-batch\\.micro', 'Enter');
    await page.waitForSelector('.tile.first em');
    assert.match(await page.locator('.tile.first em').innerText(), /^[+-][\d.]+ %$/);
    await tab(page, 'compare');
    await page
      .waitForSelector('[role=tabpanel] tr:has-text("batch")', {
        state: 'attached',
      })
      .catch(() => {});
    await page.waitForSelector('[role=tabpanel] th:text-is("step_time")');
  },

  'a link holds the job and opens again, in a later page, too': async ({
    open,
    address,
    folder,
    write,
  }) => {
    const page = await open();
    await page.fill('#key-batch\\.micro', '2');
    await page.press('#key-batch\\.micro', 'Enter');
    await page.waitForFunction(() => window.steptime.state.doc.sets.length === 1);
    const shown = await first(page);
    await page.click('text=Share');
    const link = page.url();
    assert.match(link, /#s[\w-]+$/);
    const other = await open(link);
    assert.equal(await first(other), shown);
    assert.equal(await other.locator('#key-batch\\.micro').inputValue(), '2');
    const html = readFileSync(new URL(address), 'utf8');
    assert.ok(html.length < 2_000_000, `${html.length} bytes`);
    write('later.html', html.replace(/"version":"[\d.]+"/, '"version":"9.238.5"'));
    const later = await open(`file://${folder}/later.html${new URL(link).hash}`);
    assert.equal(await first(later), shown);
    assert.match(await later.locator('.notice').innerText(), /is from steptime .*9\.238\.5/);
  },

  'broken and hostile links do no harm': async ({ open, address, shoot }) => {
    const page = await open();
    const hostile = await store(page, () => {
      const text =
        "name: '<img src=x onerror=alert(1)>'\ndoc: <script>window.hurt = 1</script>\nmodel: gpt-3b\ncluster: rtx3090-pcie-32\nparallel: {pp: 4, tp: 2, dp: 4}\nbatch: {global: 1024, micro: 32, sequence: 1024}\nrecompute: full\nsheet: li2024\n";
      const doc = { job: '', text, sets: [], sheet: null };
      window.steptime.update({ doc });
      return window.steptime.link();
    });
    const worse = await store(page, () => {
      window.steptime.update({
        doc: {
          job: '<b onmouseover=alert(1)>',
          text: null,
          sets: [['<img src=x onerror=alert(2)>', '<script>']],
          sheet: '<svg onload=alert(3)>',
        },
      });
      return window.steptime.link();
    });
    const giant = await store(page, () => {
      const twice = Array.from(
        { length: 39 },
        (_, i) =>
          `  f${i + 1}: {args: {x: 1}, unit: 1, is: "f${i}(x) + f${i}(x + 2.385)", doc: x}\n`,
      );
      const sheet = `sheet: mine\ninclude: [li2024]\nfunctions:\n  f0: {args: {x: 1}, unit: 1, is: 2.385*x, doc: x}\n${twice.join('')}cells:\n  T_DP: {override: true, unit: s, is: "f39(p)*1[s]", doc: many}\n`;
      window.steptime.update({ doc: { job: 'gpt-3b-32x3090', text: null, sets: [], sheet } });
      return window.steptime.link();
    });
    for (const fragment of [
      '#s',
      '#sAAAA',
      '#snonsense!',
      `#s${'A'.repeat(100_000)}`,
      '#other',
      hostile,
      worse,
      giant,
    ]) {
      const one = await open(address + fragment);
      await one.waitForSelector('.tile.first .number');
      if (fragment !== hostile) await one.waitForSelector('.notice');
      assert.equal(await one.locator('img[src=x], svg[onload], b[onmouseover]').count(), 0);
      assert.equal(await one.evaluate(() => window.hurt), undefined);
      const before = await first(one);
      await one.selectOption('#job-name', 'llama3-8b-8xh100');
      await changed(one, before);
      if (fragment === worse) await shoot(one, 'hostile-link');
      await one.close();
    }
  },

  'a formula is edited, checked, marked and compared': async ({ open, shoot }) => {
    const page = await open();
    await page.selectOption('#job-name', 'gpt-3b-32x3090');
    await page.waitForFunction(() => window.steptime.state.shape.name === 'li2024');
    const before = await first(page);
    await page.click('.explain button:has-text("Edit this formula")');
    await page.waitForSelector('.cm-content');
    await page.waitForSelector('[role=tabpanel] [role=status]:has-text("No errors")');
    const text = () => page.evaluate(() => window.steptime.state.doc.sheet);
    assert.match(await text(), /T_iter:\n {4}override: true\n {4}unit: s/);
    const write = async (sheet) => {
      await page.click('.cm-content');
      await page.keyboard.press('Control+A');
      await page.keyboard.insertText(sheet);
    };
    const good = await text();
    await write(good.replace('+ T_DP', '+ 2.385*T_DP'));
    await changed(page, before);
    await page.waitForSelector('.changed-formula ins');
    assert.match(await page.locator('.changed-formula ins').innerText(), /2\.385\*T_DP/);
    await shoot(page, 'sheet');
    const now = await first(page);
    await write(good.replace('+ T_DP', '+ T_DP*C_DP'));
    await page.waitForSelector('.cm-lintRange-error');
    assert.match(
      await page.locator('[role=tabpanel] .wrong').first().innerText(),
      /mine\.yaml:\d+:\d+: .*/,
    );
    assert.equal(await first(page), now);
    await write(good.replace('is: ', 'is: T_iter + '));
    await page.waitForSelector('[role=tabpanel] .wrong:has-text("circular dependency")');
    await write('sheet: [');
    await page.waitForSelector('[role=tabpanel] .wrong');
    await page.click('text=Back to the shipped sheet');
    await changed(page, now);
    assert.equal(await first(page), before);
    await page.waitForTimeout(1500); // a sheet without changes is not checked
    assert.equal(await page.locator('[role=tabpanel] .wrong').count(), 0);
  },

  'a formula that would take gigabytes is refused in place': async ({ open }) => {
    const page = await open();
    await page.selectOption('#job-name', 'gpt-3b-32x3090');
    await page.waitForFunction(() => window.steptime.state.shape.name === 'li2024');
    const before = await first(page);
    const twice = Array.from(
      { length: 39 },
      (_, i) =>
        `  f${i + 1}: {args: {x: 1}, unit: 1, is: "f${i}(x) + f${i}(x + 2.385)", doc: twice f${i}}\n`,
    );
    const sheet = (name) =>
      `sheet: mine\ninclude: [li2024]\nfunctions:\n  f0: {args: {x: 1}, unit: 1, is: 2.385*x, doc: x}\n${twice.join('')}cells:\n  T_DP: {override: true, unit: s, is: "${name}(p)*1[s]", doc: many of x}\n`;
    await tab(page, 'sheet');
    const write = async (text) => {
      await page.click('.cm-content');
      await page.keyboard.press('Control+A');
      await page.keyboard.insertText(text);
    };
    await write(sheet('f39'));
    await page.waitForSelector('[role=tabpanel] .wrong:has-text("too large")');
    assert.equal(await first(page), before);
    await write(sheet('f2'));
    await changed(page, before);
    assert.equal(await page.locator('[role=tabpanel] .wrong').count(), 0);
  },

  'a config.json becomes the model; another file is refused in place': async ({ open }) => {
    const page = await open();
    const before = await first(page);
    await page.click('text=Paste…');
    await page.fill('#paste-text', '{"hello": [1, 2, 3]}');
    await page.click('text=Use it');
    await page.waitForSelector('.paste .wrong');
    await page.fill('#paste-text', '{broken');
    await page.click('text=Use it');
    await page.waitForSelector('.paste .wrong');
    const paste = (bytes) =>
      page.evaluate((size) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData('text/plain', 'a: 2.385\n'.repeat(size / 9));
        const event = new ClipboardEvent('paste', {
          clipboardData,
          bubbles: true,
          cancelable: true,
        });
        document.querySelector('#paste-text').dispatchEvent(event);
      }, bytes);
    await paste(3_000_000);
    await page.waitForSelector('#paste-text[placeholder*="too long to be shown"]');
    assert.equal(await page.inputValue('#paste-text'), '');
    await page.click('text=Use it');
    await page.waitForSelector('.paste .wrong:has-text("too large")');
    await paste(9_000_000);
    await page.waitForSelector('.paste .wrong:has-text("larger than 4 MB")');
    await page.fill(
      '#paste-text',
      JSON.stringify({
        architectures: ['LlamaForCausalLM'],
        model_type: 'llama',
        hidden_size: 4096,
        intermediate_size: 14336,
        num_attention_heads: 32,
        num_key_value_heads: 8,
        num_hidden_layers: 32,
        vocab_size: 128256,
        max_position_embeddings: 8192,
        hidden_act: 'silu',
        rms_norm_eps: 1e-5,
        tie_word_embeddings: false,
        torch_dtype: 'bfloat16',
      }),
    );
    await page.click('text=Use it');
    await changed(page, before);
    await page.waitForFunction(
      () =>
        window.steptime.state.report.inputs.find((one) => one.key === 'model.hidden').value ===
        4096,
    );
  },

  'a sweep draws a curve and a map, and refuses a million rows': async ({ open, shoot }) => {
    const page = await open();
    await tab(page, 'sweep');
    await page.click('.form button');
    await page.waitForSelector('.curve canvas');
    await page.fill('label:has-text("Second key") input', 'cluster.nic_bandwidth');
    await page.fill('label:has-text("Values") >> nth=1 >> input', '50..200*2 GB/s');
    await page.click('.form button');
    await page.waitForSelector('.heat td.best');
    await shoot(page, 'sweep');
    await page.fill('label:has-text("Key") >> nth=0 >> input', 'cluster.nic_bandwidth');
    await page.fill('label:has-text("Second key") input', 'cluster.gpu.memory_bandwidth');
    await page.fill('label:has-text("Values") >> nth=0 >> input', '1001..2000+1 GB/s');
    await page.fill('label:has-text("Values") >> nth=1 >> input', '1001..2000+1 GB/s');
    await page.click('.form button');
    await page.waitForSelector('[role=tabpanel] .wrong', { timeout: 120_000 });
    await page.fill('label:has-text("Values") >> nth=0 >> input', 'nonsense');
    await page.click('.form button');
    await page.waitForSelector('[role=tabpanel] .wrong:has-text("nonsense")');
  },

  'a search ranks plans, is stopped, and a plan is used': async ({ open, shoot }) => {
    const page = await open();
    await page.selectOption('#job-name', 'gpt3-175b-64xa100');
    await page.waitForFunction(
      () => window.steptime.state.report?.job.name === 'gpt3-175b-64xa100',
    );
    await tab(page, 'search');
    await page.fill('label:has-text("GPUs") input', '8..16384*2');
    await page.click('text=Search plans');
    await page.click('.progress button');
    await page.waitForSelector('.progress', { state: 'detached' });
    await page.fill('label:has-text("GPUs") input', '7');
    await page.click('text=Search plans');
    await page.waitForSelector('details[open] >> text=Why they were rejected');
    await page.waitForSelector('[role=tabpanel] p:has-text("none passes all checks.")');
    await page.fill('label:has-text("GPUs") input', '64');
    await page.click('text=Search plans');
    await page.waitForSelector('button:text-is("Use")', { timeout: 120_000 });
    await shoot(page, 'search');
    const before = await first(page);
    await page.click('button:text-is("Use") >> nth=0');
    await changed(page, before);
  },

  'traffic and timeline follow the job': async ({ open, shoot }) => {
    const page = await open();
    await page.selectOption('#job-name', 'gpt-3b-32x3090');
    for (const id of ['traffic', 'timeline']) {
      await tab(page, id);
      await page.waitForSelector('[role=tabpanel] img.picture', {
        timeout: 60_000,
      });
      const drawn = await page.locator('[role=tabpanel] img.picture').evaluate(async (image) => {
        await image.decode();
        return image.naturalWidth;
      });
      assert.ok(drawn > 100, `${id} is drawn`);
      await shoot(page, id);
    }
    await page.click('summary:has-text("Kinds of tasks")');
    await page.click('summary:has-text("Critical path")');
    const { step, begin } = await store(page, () => {
      const seconds = (row) => Number.parseFloat(row.cells[3].textContent);
      const [kinds, path] = document.querySelectorAll('details table');
      return {
        step: [...kinds.tBodies[0].rows].reduce((sum, row) => sum + seconds(row), 0),
        begin: path.tBodies[0].rows[0].textContent,
      };
    });
    assert.ok(Math.abs(step / Number.parseFloat(await first(page)) - 1) < 0.01, `${step} s`);
    assert.match(begin, /F 1.*forward/);
    await page.focus('.scroll');
    await page.keyboard.press('w');
    await page.waitForFunction(() => document.querySelector('.scroll img').style.width === '150%');
  },

  'every export has its text': async ({ open }) => {
    const page = await open();
    await page.selectOption('#job-name', 'llama3-8b-8xh100');
    await tab(page, 'export');
    for (const [button, text] of [
      ['Job (YAML)', 'model: "llama3-8b"'],
      ['Estimate (JSON)', '"schema_version"'],
      ['Estimate (CSV)', 'section,cell,value'],
      ['megatron', '--tensor-model-parallel-size'],
      ['torchtitan', '[parallelism]'],
      ['deepspeed', 'train_batch_size'],
    ]) {
      await page.click(`[role=tabpanel] button:text-is("${button}")`);
      await page.waitForSelector(`pre.file:has-text('${text}')`, {
        timeout: 60_000,
      });
    }
  },

  'the four lessons open, and their tasks check themselves': async ({ open, shoot }) => {
    const page = await open();
    await page.click('text=Lessons');
    await page.waitForSelector('.task .note:text-is("Not yet: open the job above first.")');
    const solve = [
      async () => {
        await page.click('.lesson button:has-text("Open")');
        await page.waitForSelector('.cm-content');
        await page.waitForFunction(() => window.steptime.state.shape.name === 'ring');
        await page.evaluate(() =>
          window.steptime.change({
            ...window.steptime.state.doc,
            sheet: window.steptime.state.doc.sheet.replace('is: 0[ms]', 'is: 2*(n-1)/n * V/C'),
          }),
        );
        await page.waitForSelector('.task.done');
        await shoot(page, 'lesson');
        await page.evaluate(() => window.steptime.setKey('parallel.dp', '64'));
      },
      async () => {
        await page.click('.lesson button:has-text("Open")');
        await page.waitForFunction(() => window.steptime.state.shape.name === 'ring-latency');
        await page.evaluate(() =>
          window.steptime.change({
            ...window.steptime.state.doc,
            sheet: window.steptime.state.doc.sheet.replace('is: 0[ms]', 'is: 2*(n-1)*alpha'),
          }),
        );
        await page.waitForSelector('.task.done');
        await page.evaluate(() => window.steptime.setKey('constants.message', '2.385 MB'));
      },
      async () => {
        await page.click('.lesson button:has-text("Open")');
        await page.waitForFunction(() => window.steptime.state.shape.name === 'li2024');
        await page.evaluate(() => window.steptime.setKey('batch.micro', '4'));
        await page.waitForSelector('.task.done');
        await page.evaluate(
          () =>
            window.steptime.setKey('batch.micro', '32') &&
            window.steptime.setKey('batch.global', '4096'),
        );
      },
      async () => {
        await page.click('.lesson button:has-text("Open")');
        await page.waitForSelector('.tile.exceeds');
        await shoot(page, 'does-not-fit');
        await page.evaluate(() => window.steptime.setKey('batch.micro', '1'));
        await page.waitForSelector('.task.done');
        await page.evaluate(() =>
          window.steptime.change({
            job: 'gpt3-175b-64xa100',
            text: null,
            sheet: null,
            sets: [
              ['parallel.tp', '4'],
              ['parallel.dp', '2'],
              ['parallel.virtual_stages', '12'],
              ['parallel.zero', '1'],
              ['batch.micro', '1'],
            ],
          }),
        );
      },
    ];
    for (const [i, work] of solve.entries()) {
      await page.selectOption('.lesson select', String(i));
      await page.waitForFunction(
        () =>
          document.querySelectorAll('.task').length === 1 && !document.querySelector('.task.done'),
      );
      await work();
      await page.waitForFunction(() => document.querySelectorAll('.task.done').length === 2);
    }
  },

  "lessons, a job and a sheet of one's own are packed": async ({ open, packed, write, folder }) => {
    const lesson =
      '# My lesson\n\nText with `code`, **bold** and <script>alert(1)</script>.\n\n```steptime task\nMake it quick.\ncheck: T_iter < 70[s]\n```\n';
    write(
      'mine.yaml',
      'sheet: mine\ninclude: [li2024]\ncells:\n  T_DP:\n    override: true\n    unit: s\n    is: 2.385[s]\n    doc: mine\n',
    );
    write('lesson.md', lesson);
    write(
      'own.yaml',
      'name: own\nmodel: gpt-3b\ncluster: rtx3090-pcie-32\nparallel: {pp: 4, tp: 2, dp: 4}\nbatch: {global: 512, micro: 32, sequence: 1024}\nrecompute: full\nsheet: li2024\n',
    );
    const page = await open(
      packed(
        'own.html',
        '--job',
        `${folder}/own.yaml`,
        '--sheet',
        `${folder}/mine.yaml`,
        '--lessons',
        folder,
      ),
    );
    await page.waitForFunction(() => window.steptime.state.report?.job.name === 'own');
    assert.equal(await page.evaluate(() => window.steptime.state.shape.name), 'mine');
    await page.click('text=Lessons');
    await page.waitForSelector('.lesson h2:text-is("My lesson")');
    assert.match(await page.locator('.lesson').innerText(), /<script>alert/);
    await page.waitForSelector('.task.done');
  },

  'print shows one estimate and no controls': async ({ open, shoot }) => {
    const page = await open();
    await page.waitForTimeout(400);
    await page.emulateMedia({ media: 'print' });
    assert.equal(await page.locator('.job').isVisible(), false);
    assert.equal(await page.locator('.tiles').isVisible(), true);
    await shoot(page, 'print', { fullPage: true });
    const pdf = await page.pdf({ format: 'A4' });
    assert.ok(pdf.length > 10_000);
  },

  'the keyboard alone reaches tabs, fields and numbers': async ({ open }) => {
    const page = await open();
    await page.focus('#tab-report');
    await page.keyboard.press('ArrowRight');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'tab-traffic');
    assert.equal(await page.locator('#tab-traffic').getAttribute('aria-selected'), 'true');
    await page.focus('.tile.first .number');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.explain h2:has-text("step_time")');
    await page.fill('#key-batch\\.micro', '2');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => window.steptime.state.doc.sets.length === 1);
    await page.focus('.tile.first .number');
    await page.keyboard.press('Control+z');
    await page.waitForFunction(() => window.steptime.state.doc.sets.length === 0);
  },

  'a browser without DecompressionStream, storage or WebAssembly': async ({ open, context }) => {
    const page = await open(undefined, {
      before: () => {
        delete window.DecompressionStream;
        delete window.CompressionStream;
        Object.defineProperty(window, 'localStorage', {
          get: () => {
            throw new Error('none');
          },
        });
      },
    });
    assert.match(await first(page), / s$/);
    await page.click('text=Share');
    assert.match(page.url(), /#s/);
    const bare = await open(undefined, {
      before: () => {
        delete window.WebAssembly;
      },
    });
    assert.match(await bare.locator('.wrong').innerText(), /no WebAssembly/);
    assert.equal(context.pages().length, 2);
  },

  'no violation of axe in any view, light and dark, at three widths': async ({
    open,
    axe,
    shoot,
  }) => {
    const page = await open();
    await page.evaluate(axe());
    const found = [];
    const check = async (where) => {
      const { violations } = await page.evaluate(() => window.axe.run());
      found.push(
        ...violations.map(
          (one) => `${where}: ${one.id}: ${one.nodes.map((node) => node.target).join(' ')}`,
        ),
      );
    };
    const fits = async (where) =>
      assert.ok(
        await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        `${where} scrolls sideways`,
      );
    for (const theme of ['light', 'dark']) {
      await page.selectOption('[aria-label=Colours]', theme);
      for (const [name, width] of [
        ['phone', 390],
        ['tablet', 900],
        ['desk', 1440],
      ]) {
        await page.setViewportSize({ width, height: 900 });
        await page.waitForTimeout(300);
        await shoot(page, `${name}-${theme}`, { fullPage: true });
        await fits(name);
        await check(`${name} ${theme}`);
      }
      for (const id of [
        'traffic',
        'timeline',
        'sweep',
        'search',
        'compare',
        'sheet',
        'export',
        'report',
      ]) {
        await tab(page, id);
        await page.waitForTimeout(400);
        if (id === 'timeline') {
          await page.click('summary:has-text("Kinds of tasks")');
          await page.click('summary:has-text("Critical path")');
        }
        await check(`${id} ${theme}`);
        await page.setViewportSize({ width: 390, height: 900 });
        await fits(`${id} on a phone`);
        await page.setViewportSize({ width: 1440, height: 900 });
      }
      await page.click('header >> text=Lessons');
      await check(`lessons ${theme}`);
      await page.click('header >> text=Lessons');
    }
    assert.deepEqual(found, []);
  },
};
