import type { Summary } from '../statistics.ts';
import { type SystemUsage, usedBetween } from './usage.ts';

/** What the worker or the servers of a system used in a scenario. */
export interface Cost {
  /** User and system time of each release, or of each second if nothing else happened than waiting. */
  readonly cpuMs: number;
  /** At the end, or while all waited. */
  readonly memoryMiB: number;
  readonly writtenKiB: number;
}

/** What came of one scenario with one system. */
export interface Measured {
  readonly system: string;
  readonly scenario: string;
  readonly count: number;
  /** Of the releases, or of what the scenario is about. */
  readonly summary: Summary;
  /** The bare script's releases, made in turn with these. */
  readonly bare?: Summary;
  /** The median less that of the bare script. */
  readonly overBareMs?: number;
  readonly perSecond?: number;
  /** CPU and bytes written of each release. */
  readonly worker?: Cost;
  readonly server?: Cost;
  /** In the store, of one release: events, rows or journal entries. */
  readonly events?: number;
  /** The requests of all releases that the stand-in has counted. */
  readonly requests: Readonly<Record<string, number>>;
  readonly parked?: Parked;
  readonly killed?: Killed;
}

/** What came of many releases that waited. */
export interface Parked {
  /** How many were asked for, had sent their PATCH when the wait was over, and were polled at least once in the watch. */
  readonly asked: number;
  readonly patched: number;
  readonly polled: number;
  /** How long the longest silence of each release was in the watch. */
  readonly silence: Summary;
  readonly watchMs: number;
  /** CPU of one second of the watch. */
  readonly worker: Cost;
  readonly server: Cost;
  /** From asking for the rollback of one that waits to its redeploy request. Absent: none came in time. */
  readonly rollback?: Summary;
  /** Another release, beside those that wait. Absent: none ended in time. */
  readonly release?: Summary;
  /** How many rollbacks and releases did not get there in time. */
  readonly late: number;
}

/** What came of kills. */
export interface Killed {
  readonly uninterrupted: Summary;
  /** Requests that changed something and were sent again. */
  readonly repeated: number;
}

/** The cost between two moments. */
export function costOf(
  before: SystemUsage,
  after: SystemUsage,
  shares: number,
): { readonly worker: Cost; readonly server: Cost } {
  const cost = (side: keyof SystemUsage): Cost => {
    const used = usedBetween(before[side], after[side]);
    return {
      cpuMs: rounded(used.cpuMs / shares),
      memoryMiB: Math.round(used.memoryBytes / 2 ** 20),
      writtenKiB: rounded(used.writtenBytes / 1_024 / shares),
    };
  };
  return { worker: cost('worker'), server: cost('server') };
}

/** To a tenth. */
export function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
