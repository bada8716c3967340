import { table } from '../statistics.ts';
import type { Cost, Measured } from './measured.ts';

/** The figures as tables, one for each scenario. */
export function report(results: readonly Measured[]): string {
  const scenarios = [...new Set(results.map(({ scenario }) => scenario))];
  return scenarios.map((scenario) => scenarioTable(scenario, results)).join('\n\n');
}

function scenarioTable(scenario: string, results: readonly Measured[]): string {
  const measured = results.filter((one) => one.scenario === scenario);
  const parked = measured.some((one) => one.parked !== undefined);
  return table(parked ? parkedRows(scenario, measured) : rows(scenario, measured));
}

function rows(scenario: string, measured: readonly Measured[]): string[][] {
  const head = ['median', 'p95', 'over bare', 'per second', 'CPU', 'memory MiB', 'written KiB', 'events'];
  return [
    [scenario, ...head, 'repeated'],
    ...measured.map(({ system, summary, overBareMs, perSecond, worker, server, events, killed }) => [
      system,
      milliseconds(summary.medianMs),
      milliseconds(summary.p95Ms),
      overBareMs === undefined ? '' : milliseconds(overBareMs),
      perSecond === undefined ? '' : String(perSecond),
      pair(worker, server, 'cpuMs'),
      pair(worker, server, 'memoryMiB'),
      pair(worker, server, 'writtenKiB'),
      events === undefined ? '' : String(events),
      killed === undefined ? '' : String(killed.repeated),
    ]),
  ];
}

function parkedRows(scenario: string, measured: readonly Measured[]): string[][] {
  const head = ['all patched', 'polled', 'silence p95', 'rollback', 'release', 'late'];
  return [
    [scenario, ...head, 'CPU a second', 'memory MiB'],
    ...measured.flatMap(({ system, summary, parked }) => {
      if (parked === undefined) return [];
      const { asked, patched, polled, silence, rollback, release, late, worker, server } = parked;
      const all = patched === asked ? milliseconds(summary.maxMs) : `${patched} of ${asked}`;
      return [
        [
          system,
          all,
          `${polled} of ${asked}`,
          milliseconds(silence.p95Ms),
          rollback === undefined ? 'none' : milliseconds(rollback.medianMs),
          release === undefined ? 'none' : milliseconds(release.medianMs),
          String(late),
          pair(worker, server, 'cpuMs'),
          pair(worker, server, 'memoryMiB'),
        ],
      ];
    }),
  ];
}

/** One value of the worker and of the servers. */
function pair(worker: Cost | undefined, server: Cost | undefined, of: keyof Cost): string {
  return worker === undefined || server === undefined ? '' : `${worker[of]} + ${server[of]}`;
}

function milliseconds(value: number): string {
  return `${Math.round(value)} ms`;
}
