import { cpus, loadavg } from 'node:os';

/** The machine that figures were measured on, and how busy it was: without it no figure means anything. */
export interface Machine {
  readonly node: string;
  readonly processors: number;
  /** Of the last minute. */
  readonly loadAverage: number;
}

/** This machine, now. */
export function machine(): Machine {
  const [loadAverage = Number.NaN] = loadavg();
  return { node: process.version, processors: cpus().length, loadAverage };
}
