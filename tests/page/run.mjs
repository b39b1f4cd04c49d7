// SPDX-License-Identifier: Apache-2.0
// run.mjs ROOT [NAME]: tests of the page that ./dev page built, in headless Chromium, as TAP. NAME runs
// the tests whose names contain it; STEPTIME_SHOTS is a folder for pictures of the page.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { cases } from './cases.mjs';

const [root, only = ''] = process.argv.slice(2);
const require = createRequire(path.join(root, 'build-page/front/package.json'));
const { chromium } = require('playwright-core');
const program = path.join(root, 'build/estimator/cli/steptime');
const shots = process.env.STEPTIME_SHOTS;
const folder = mkdtempSync(path.join(tmpdir(), 'steptime-page-'));
const browserPath = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find(existsSync);

/** What the program prints. */
function steptime(...words) {
  return execFileSync(program, words, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 1 << 26,
  });
}

function packed(name, ...words) {
  const file = path.join(folder, name);
  steptime('page', ...words, '-o', file);
  return `file://${file}`;
}

const arguments_ = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const browser = await chromium.launch({
  executablePath: browserPath,
  args: arguments_,
});
const address = packed('steptime.html');
let failed = 0;
let count = 0;

for (const [name, run] of Object.entries(cases)) {
  if (!name.includes(only)) continue;
  count++;
  const context = await browser.newContext({
    viewport: { width: 1440, height: 1000 },
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const requests = [];
  const faults = [];
  await context.route(/^(?!file:|data:|blob:)/, (route) => {
    requests.push(route.request().url());
    return route.abort();
  });
  const open = async (url = address, { before } = {}) => {
    const page = await context.newPage();
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    if (before) await page.addInitScript(before);
    await page.goto(url);
    await page.waitForSelector('.tile .number, .wrong');
    return page;
  };
  const shoot = async (page, shot, options = {}) => {
    if (!shots) return;
    mkdirSync(shots, { recursive: true });
    await page.screenshot({
      path: path.join(shots, `${shot}.png`),
      ...options,
    });
  };
  const tools = {
    open,
    packed,
    steptime,
    shoot,
    address,
    folder,
    context,
    axe: () => readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'),
    write: (file, text) => {
      writeFileSync(path.join(folder, file), text);
      return path.join(folder, file);
    },
  };
  try {
    const note = await run(tools);
    if (requests.length > 0) throw new Error(`requests: ${requests.join(' ')}`);
    if (faults.length > 0) throw new Error(`faults: ${faults.join('; ')}`);
    console.log(`ok ${count} - ${name}${note ? ` # ${note}` : ''}`);
  } catch (error) {
    failed++;
    console.log(
      `not ok ${count} - ${name}\n  ${String(error?.stack ?? error).replaceAll('\n', '\n  ')}`,
    );
  }
  await context.close();
}
console.log(`1..${count}`);
await browser.close();
rmSync(folder, { recursive: true });
process.exit(failed > 0 ? 1 : 0);
