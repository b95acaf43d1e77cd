// Comma-separated values as rows. Pure.

/** The most frequent separator of the first line. */
const separatorOf = (line: string) =>
  [',', ';', '\t'].reduce((best, one) => (line.split(one).length > line.split(best).length ? one : best), ',');

/** Fields in quotes may hold separators, line ends and doubled quotes. */
export function rowsOf(text: string): string[][] {
  const separator = separatorOf(text.split('\n', 1)[0] ?? '');
  const rows: string[][] = [];
  let row: string[] = [];
  let field = '';
  let quoted = false;
  const endField = () => {
    row.push(field);
    field = '';
  };
  const endRow = () => {
    endField();
    if (row.length > 1 || row[0] !== '') rows.push(row);
    row = [];
  };
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (quoted) {
      if (character !== '"') field += character;
      else if (text[at + 1] === '"') {
        field += '"';
        at += 1;
      } else quoted = false;
    } else if (character === '"' && field === '') quoted = true;
    else if (character === separator) endField();
    else if (character === '\n') endRow();
    else if (character !== '\r') field += character;
  }
  if (field !== '' || row.length > 0) endRow();
  return rows;
}
