import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';

/** The summary of a series of measurements, in milliseconds. */
export interface Summary {
  readonly count: number;
  readonly medianMs: number;
  /** The value that 95 of 100 do not exceed (nearest rank): with 20 values the second largest. */
  readonly p95Ms: number;
  /** The same for 99 of 100: with 2,000 values the twenty-first largest. */
  readonly p99Ms: number;
  readonly minMs: number;
  readonly maxMs: number;
}

/** Summarizes a series of at least one measurement. */
export function summarize(milliseconds: readonly number[]): Summary {
  const sorted = [...milliseconds].sort((left, right) => left - right);
  const at = (rank: number): number => rounded(sorted[Math.min(Math.max(rank, 1), sorted.length) - 1] ?? NaN);
  const half = sorted.length / 2;
  return {
    count: sorted.length,
    medianMs: rounded((at(Math.ceil(half)) + at(Math.floor(half) + 1)) / 2),
    p95Ms: at(Math.ceil(sorted.length * 0.95)),
    p99Ms: at(Math.ceil(sorted.length * 0.99)),
    minMs: at(1),
    maxMs: at(sorted.length),
  };
}

/** Formats rows as a table: the first column left-aligned, the others right-aligned. */
export function table(rows: readonly (readonly string[])[]): string {
  const width = (column: number): number => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(width(column)) : cell.padStart(width(column))))
        .join('   '),
    )
    .join('\n');
}

/** Rounds to a tenth. */
export function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

/** The machine of the measurement and its load, which are necessary to interpret the figures. */
interface Machine {
  readonly node: string;
  readonly processors: number;
  /** Of the last minute. */
  readonly loadAverage: number;
}

export function machine(): Machine {
  const [loadAverage = Number.NaN] = loadavg();
  return { node: process.version, processors: cpus().length, loadAverage };
}

/**
 * The options of a benchmark that are numbers, from the command line: `--count 20`.
 * @throws TypeError if one is not a whole number from 1.
 */
export function numbersOf<Name extends string>(
  defaults: Readonly<Record<Name, number>>,
): Record<Name, number> {
  const names = Object.keys(defaults) as Name[];
  const { values } = parseArgs({
    options: Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])),
  });
  const numbers = names.map((name) => [name, Number(values[name] ?? defaults[name])] as const);
  const wrong = numbers.find(([, number]) => !Number.isInteger(number) || number < 1);
  if (wrong !== undefined) throw new TypeError(`--${wrong[0]} takes a whole number from 1`);
  return Object.fromEntries(numbers) as Record<Name, number>;
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Prints the figures of a benchmark, with the machine, as its last line. */
export function sayResult(benchmark: string, figures: object): void {
  say(JSON.stringify({ benchmark, ...figures, machine: machine() }));
}
