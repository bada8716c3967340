import {
  type Cell,
  cellName,
  CONTROL_PLANES,
  type ControlPlane,
  isRestoring,
  MOMENTS,
  type Step,
  STEPS,
  type Victim,
  VICTIMS,
  whyNoCell,
} from './cells.ts';
import type { CrashEnding } from './crashRelease.ts';

/** The shown result of each cell, by the cell's name. */
export type Findings = ReadonlyMap<string, string>;

const NOT_RUN = 'not run';
const NO_CELL = '–';

/** Results from endings of one cell each. */
export function findingsOf(endings: readonly CrashEnding[]): Findings {
  return new Map(
    endings.flatMap((ending) => ending.cells.map((cell, index) => [cellName(cell), inWords(ending, index)])),
  );
}

function inWords({ outcome, problems, duplicates, seconds }: CrashEnding, index: number): string {
  const took = `${(seconds[index] ?? 0).toFixed(1)} s`;
  if (problems.length === 0) return `${outcome.replace('_', ' ')}, ${took}`;
  return `**${duplicates > 0 ? 'duplicate' : outcome === 'stuck' ? 'stuck' : 'wrong'}**, ${took}`;
}

/** The matrix as a table in Markdown: a row per step and moment, a column per victim. */
export function matrixTable(findings: Findings): string {
  const rows = STEPS.flatMap((step) =>
    CONTROL_PLANES.flatMap((controlPlane) =>
      MOMENTS.flatMap((moment) => {
        const cells = VICTIMS.map((victim) => ({ step, moment, victim, controlPlane }));
        if (cells.every((cell) => whyNoCell(cell) !== undefined)) return [];
        return [[nameOf(step, controlPlane), moment, ...cells.map((cell) => shown(cell, findings))]];
      }),
    ),
  );
  const header = ['step', 'moment', ...VICTIMS];
  return [header, header.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/** Parses a table of {@link matrixTable}, in any formatting. */
export function readMatrixTable(text: string): Findings {
  const rows = text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const findings = new Map<string, string>();
  for (const [name, moment, ...shown] of rows) {
    const row = ROWS.find((one) => nameOf(one.step, one.controlPlane) === name);
    const known = MOMENTS.find((one) => one === moment);
    if (row === undefined || known === undefined) continue;
    for (const [index, victim] of VICTIMS.entries()) {
      const found = shown[index];
      if (found === undefined || found === NO_CELL || found === NOT_RUN) continue;
      findings.set(cellName({ ...row, moment: known, victim }), found);
    }
  }
  return findings;
}

/** The matrix in one sentence. */
export function matrixCounts(findings: Findings): string {
  const found = [...findings.values()];
  const having = (what: string): number => found.filter((text) => text.includes(what)).length;
  const green = found.filter((text) => !text.includes('**')).length;
  return (
    `${found.length} cells, ${green} as they should be: ${having('released')} released, ` +
    `${having('rolled back')} rolled back; ${having('duplicate')} duplicate revisions, ${having('stuck')} stuck, ` +
    `${having('wrong')} wrong otherwise.`
  );
}

/** The combinations that are not cells, by reason. */
export function omissions(): ReadonlyMap<string, readonly string[]> {
  const reasons = new Map<string, string[]>();
  for (const step of STEPS) {
    for (const moment of MOMENTS) {
      const why = (victim: Victim): string | undefined =>
        whyNoCell({ step, moment, victim, controlPlane: 'whole' });
      const victims = VICTIMS.filter((victim) => why(victim) !== undefined);
      const [some] = victims;
      if (some === undefined) continue;
      const reason = why(some) ?? '';
      const who = victims.length === VICTIMS.length ? '' : `, ${victims.join(', ')}`;
      reasons.set(reason, [...(reasons.get(reason) ?? []), `${nameOf(step, 'whole')}, ${moment}${who}`]);
    }
  }
  return reasons;
}

/** A step's name in a table; those of a restore are marked. */
function nameOf(step: Step, controlPlane: ControlPlane): string {
  const name = isRestoring(step) ? `restore: ${step.replace(' again', '')}` : step;
  return controlPlane === 'whole' ? name : `${name}, ${controlPlane}`;
}

const ROWS = STEPS.flatMap((step) => CONTROL_PLANES.map((controlPlane) => ({ step, controlPlane })));

function shown(cell: Cell, findings: Findings): string {
  if (whyNoCell(cell) !== undefined) return NO_CELL;
  return findings.get(cellName(cell)) ?? NOT_RUN;
}
