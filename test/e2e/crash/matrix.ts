import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { format, resolveConfig } from 'prettier';

import { allCells, cellName } from './cells.ts';
import type { CrashEnding } from './crashRelease.ts';
import { courseOf, runCourses } from './lane.ts';
import { findingsOf, matrixCounts, matrixTable, omissions, readMatrixTable } from './matrixTable.ts';

const PAGE = fileURLToPath(new URL('../../../docs/crash-matrix.md', import.meta.url));

/** This program writes everything below this line. */
const GENERATED = '<!-- written by `npm run test:crash -- --write` -->';

const USAGE = `npm run test:crash -- [--only PART]… [--lanes N] [--write]

  --only PART   only cells whose name (victim/step/moment) contains it, as in worker/patch/answered; may be repeated
  --lanes N     so many stacks at once. Default: 2
  --write       writes what was found into docs/crash-matrix.md; cells that were not run stay as they are there
`;

// Child processes must end with this one, so signals end it through `exit`.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.exitCode = await main();

async function main(): Promise<number> {
  const options = readOptions();
  if (options === undefined) {
    process.stderr.write(USAGE);
    return 1;
  }
  const cells = allCells().filter(
    (cell) => options.only.length === 0 || options.only.some((part) => cellName(cell).includes(part)),
  );
  const started = performance.now();
  let done = 0;
  const endings = await runCourses(cells.map(courseOf), options.lanes, (ending) => {
    const elapsed = ((performance.now() - started) / 1_000).toFixed(0);
    const [found = ''] = findingsOf([ending]).values();
    say(`${elapsed} s  ${++done}/${cells.length}  ${ending.cells.map(cellName).join()}  ${found}`);
  });
  const findings = findingsOf(endings);
  say(`\n${matrixTable(findings)}\n\n${matrixCounts(findings)}`);
  const wrong = endings.filter(({ problems }) => problems.length > 0);
  for (const {
    cells: [cell],
    problems,
  } of wrong) {
    say(`\n${cell === undefined ? '' : cellName(cell)}\n${problems.join('\n')}`);
  }
  if (options.write) await publish(endings);
  return wrong.length === 0 && endings.length === cells.length ? 0 : 1;
}

function readOptions(): { only: string[]; lanes: number; write: boolean } | undefined {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: 'string', multiple: true, default: [] },
        lanes: { type: 'string', default: '2' },
        write: { type: 'boolean', default: false },
      },
    });
    const lanes = Number(values.lanes);
    return Number.isInteger(lanes) && lanes > 0 ? { ...values, lanes } : undefined;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

async function publish(endings: readonly CrashEnding[]): Promise<void> {
  const text = await readFile(PAGE, 'utf8');
  const findings = new Map([...readMatrixTable(text), ...findingsOf(endings)]);
  const [head = ''] = text.split(GENERATED);
  const page = [head + GENERATED, '', matrixCounts(findings), '', matrixTable(findings), '', left()].join(
    '\n',
  );
  const options = await resolveConfig(PAGE);
  await writeFile(PAGE, await format(page, { ...options, filepath: PAGE }));
}

function left(): string {
  const lines = [...omissions()].map(([reason, combinations]) => `- ${combinations.join('; ')}: ${reason}.`);
  return ['Not in the table, and why:', '', ...lines, ''].join('\n');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
