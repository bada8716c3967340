import { FREEZE, JUDGE, SOAK } from '../../domain/intervention/intervention.ts';
import type { StepFailure } from '../failure.ts';

/** The step that a `skip` skips. */
export function stepOf(what: string): 'freeze' | 'soak' | 'judge' | 'check' {
  return what === FREEZE || what === SOAK || what === JUDGE ? what : 'check';
}

/** What a person is asked if the outcome of a step is unknown. */
export function decisionNote({ message }: StepFailure, skippable: string | null): string {
  const choices = skippable === null ? '"retry" or "abort"' : `"retry", "abort", or "skip" of "${skippable}"`;
  return `its outcome is unknown (${message}): say ${choices}`;
}
