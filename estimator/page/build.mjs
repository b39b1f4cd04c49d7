// SPDX-License-Identifier: Apache-2.0
// build.mjs ROOT ENGINE_FOLDER VERSION OUTPUT.html: bundles the front end and puts it, the engine, the
// lessons and the references into one file that needs nothing else.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import path from 'node:path';
import { build } from 'esbuild';

const [root, engine, version, output] = process.argv.slice(2);
const here = import.meta.dirname;
const read = (file) => readFileSync(path.join(here, file), 'utf8');

// The typesetter and the editor, two thirds of the code: a block of their own, which is read when the
// first of them is asked for (src/text.ts). The page finds them there.
const LATE = [
  'katex',
  '@codemirror/commands',
  '@codemirror/language',
  '@codemirror/lint',
  '@codemirror/state',
  '@codemirror/view',
  '@lezer/highlight',
];
const late = {
  name: 'late',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[@\w]/ }, ({ path: name, importer }) =>
      LATE.includes(name) && importer !== '' ? { path: name, namespace: 'late' } : null,
    );
    onLoad({ filter: /./, namespace: 'late' }, ({ path: name }) => ({
      contents: `module.exports = window.late[${JSON.stringify(name)}]`,
    }));
  },
};

async function bundle(input, { target = 'es2022', plugins = [] } = {}) {
  const result = await build({
    ...input,
    plugins,
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'error',
    alias: { 'steptime-engine': path.resolve(engine, 'engine.mjs') },
    define: { 'import.meta.url': '"file:///"' },
    charset: 'utf8',
  });
  return result.outputFiles[0].text;
}

/** KaTeX's rules with the fonts that formulas of sheets use, inside. */
function mathStyle() {
  const folder = path.dirname(createRequire(import.meta.url).resolve('katex/dist/katex.min.css'));
  const used = /KaTeX_(Main-Regular|Math-Italic|Size[1-4]-Regular)\.woff2/;
  return readFileSync(path.join(folder, 'katex.min.css'), 'utf8').replace(
    /@font-face\{[^}]*\}/g,
    (rule) => {
      const file = used.exec(rule);
      if (!file) return '';
      const font = readFileSync(path.join(folder, 'fonts', file[0])).toString('base64');
      return rule.replace(/src:[^;}]*/, `src:url(data:font/woff2;base64,${font})`);
    },
  );
}

/** "li2024": "Li et al. Title. 2024." */
function references() {
  const list = {};
  const bib = readFileSync(path.join(root, 'formulas/references.bib'), 'utf8');
  for (const [, key, body] of bib.matchAll(/^@\w+\{([^,\s]+),([\s\S]*?)^\}/gm)) {
    const field = (name) =>
      new RegExp(`^\\s*${name}\\s*=\\s*[{"]([\\s\\S]*?)[}"],?\\s*$`, 'm')
        .exec(body)?.[1]
        ?.replace(/[{}\\]/g, '')
        .replace(/\s+/g, ' ');
    const authors = (field('author') ?? '').split(' and ');
    const who = authors.length > 2 ? `${authors[0]} et al.` : authors.join(' and ');
    list[key] = [
      who,
      field('title'),
      field('year'),
      field('doi')
        ? `doi:${field('doi')}`
        : (field('url') ?? (field('eprint') ? `arXiv:${field('eprint')}` : undefined)),
    ]
      .filter(Boolean)
      .join('. ')
      .replace('..', '.');
  }
  return list;
}

const inScript = (text) => text.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
const asData = (value) => JSON.stringify(value).replaceAll('<', '\\u003c');
const css =
  mathStyle() +
  readFileSync(createRequire(import.meta.url).resolve('uplot/dist/uPlot.min.css'), 'utf8') +
  read('src/style.css');
const packed = (data) => gzipSync(data, { level: 9 }).toString('base64');
const wasm = packed(readFileSync(path.join(engine, 'engine.wasm')));
const lessons = readdirSync(path.join(here, 'lessons'))
  .sort()
  .map((name) => read(`lessons/${name}`));
const entry = (file) => ({ entryPoints: [path.join(here, file)] });
const page = packed(await bundle(entry('src/main.tsx'), { plugins: [late] }));
const rest = LATE.map((name) => `${JSON.stringify(name)}: require(${JSON.stringify(name)})`);
const lateParts = packed(
  await bundle({ stdin: { contents: `window.late = {${rest}}`, resolveDir: here } }),
);
const worker = packed(await bundle(entry('src/worker.ts')));
const loader = await bundle(entry('src/loader.ts'), { target: 'es2017' });

writeFileSync(
  output,
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' 'unsafe-eval' blob:; worker-src blob:; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'">
<title>steptime</title>
<link rel="icon" href="data:,">
<style>${css}</style>
</head>
<body>
<div id="root"><p class="start">steptime ${version} starts…</p></div>
<script id="own" type="application/json">{}</script>
<script id="built" type="application/json">${asData({ version, references: references(), lessons })}</script>
<script id="engine" type="text/plain">${wasm}</script>
<script id="worker" type="text/plain">${worker}</script>
<script id="page" type="text/plain">${page}</script>
<script id="late" type="text/plain">${lateParts}</script>
<script>${inScript(loader)}</script>
</body>
</html>
`,
);
const sizes = {
  engine: wasm.length,
  page: page.length,
  late: lateParts.length,
  worker: worker.length,
  loader: loader.length,
  style: css.length,
};
process.stdout.write(`${JSON.stringify(sizes)}\n`);
