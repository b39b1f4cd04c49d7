// SPDX-License-Identifier: Apache-2.0
/** Rows of CSV as the engine writes it: fields with commas or quotes are in quotes. */
export function rowsOf(text: string): string[][] {
  const rows: string[][] = [[]];
  let field = '';
  let quoted = false;
  const end = (): void => {
    rows.at(-1)?.push(field);
    field = '';
  };
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted && c === '"' && text[i + 1] === '"') {
      field += '"';
      i++;
    } else if (c === '"') quoted = !quoted;
    else if (c === ',' && !quoted) end();
    else if (c === '\n' && !quoted) {
      end();
      rows.push([]);
    } else if (c !== '\r') field += c;
  }
  if (field !== '' || (rows.at(-1)?.length ?? 0) > 0) end();
  return rows.filter((row) => row.length > 0);
}
