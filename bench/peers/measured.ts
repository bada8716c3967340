import { rounded, type Summary } from '../statistics.ts';
import { type SystemUsage, usedBetween } from './usage.ts';

/** The resources that a system's worker or servers used in a scenario. */
export interface Cost {
  /** User and system time per release, or per second if all releases only waited. */
  readonly cpuMs: number;
  /** Resident memory at the end, or while all releases waited. */
  readonly memoryMiB: number;
  readonly writtenKiB: number;
}

/** The result of one scenario with one system. */
export interface Measured {
  readonly system: string;
  readonly scenario: string;
  readonly count: number;
  /** The durations that the scenario measures, usually of releases. */
  readonly summary: Summary;
  /** The bare script's releases, alternating with these. */
  readonly bare?: Summary;
  /** The median minus that of the bare script. */
  readonly overBareMs?: number;
  readonly perSecond?: number;
  /** CPU and written bytes per release. */
  readonly worker?: Cost;
  readonly server?: Cost;
  /** Events, rows or journal entries of one release in the system's store. */
  readonly events?: number;
  /** The requests of all releases, counted by the stand-in. */
  readonly requests: Readonly<Record<string, number>>;
  readonly parked?: Parked;
  readonly killed?: Killed;
}

/** The result of many waiting releases. */
export interface Parked {
  /** How many were requested, had sent their PATCH when the wait ended, and were polled at least once in the watch. */
  readonly asked: number;
  readonly patched: number;
  readonly polled: number;
  /** The longest time between two polls of each release in the watch. */
  readonly silence: Summary;
  readonly watchMs: number;
  /** CPU per second of the watch. */
  readonly worker: Cost;
  readonly server: Cost;
  /** From the rollback request for a waiting release to its redeploy request. Absent: none came in time. */
  readonly rollback?: Summary;
  /** The duration of another release meanwhile. Absent: none ended in time. */
  readonly release?: Summary;
  /** How many rollbacks and releases exceeded their limit. */
  readonly late: number;
}

export interface Killed {
  readonly uninterrupted: Summary;
  /** Repeated requests that changed something. */
  readonly repeated: number;
}

/** The cost between two measurements. */
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
