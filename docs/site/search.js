// SPDX-License-Identifier: Apache-2.0
// Search over the sections of all pages: every word of the question must begin a word of the section. The build puts
// the list of [address, title, page, text] below.
const sections = SECTIONS;
const field = document.getElementById('search');
const list = document.getElementById('found');
const root = document.body.dataset.root;

function score([, title, page, text], words) {
  let sum = 0;
  for (const word of words) {
    const begins = new RegExp('(^|[^\\p{L}\\p{N}])' + word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'iu');
    const found = begins.test(title) ? 20 : begins.test(page) ? 6 : begins.test(text) ? 1 : 0;
    if (!found) return 0;
    sum += found;
  }
  return sum;
}

function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word.toLowerCase()) - 60);
  return (at ? '…' : '') + text.slice(at, at + 160);
}

field.addEventListener('input', () => {
  const words = field.value.trim().split(/\s+/).filter(Boolean);
  const found = words.length ? sections.map((one) => [score(one, words), one]).filter(([points]) => points) : [];
  found.sort((a, b) => b[0] - a[0]);
  list.replaceChildren(...found.slice(0, 30).map(([, [address, title, page, text]]) => {
    const item = document.createElement('li');
    const link = document.createElement('a');
    const small = document.createElement('small');
    link.href = root + address;
    link.textContent = title === page ? title : `${title} – ${page}`;
    small.textContent = excerpt(text, words[0]);
    link.append(small);
    item.append(link);
    return item;
  }));
  list.hidden = !words.length;
});
field.form.addEventListener('submit', (event) => {
  event.preventDefault();
  list.querySelector('a')?.click();
});
field.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') list.hidden = true;
});
