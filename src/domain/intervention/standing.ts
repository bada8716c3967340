import type { Progress, ReleaseRequest, StepRecord } from '../release/release.ts';
import { FREEZE, JUDGE, SOAK, type Standing } from './intervention.ts';

/** The parts of a request that decide which interventions are possible. */
export type StandingRequest = Pick<
  ReleaseRequest,
  'checks' | 'soakMs' | 'freezes' | 'approval' | 'requestedBy'
> &
  Pick<Standing, 'called'> & {
    /** Whether a candidate is to be judged. */
    readonly judged?: boolean;
  };

/** The state of a release or a promotion by its progress, before an intervention is sent. The workflow decides. */
export function standingOf(progress: Progress, request: StandingRequest): Standing {
  const { outcome, steps, waiting, interventions, madeBy } = progress;
  const { called, approval = null } = request;
  const taken = interventions.filter((said) => said.taken);
  const isStopping = taken.some(({ kind }) => kind === 'abort' || kind === 'reject');
  const isRestoring = isStopping || steps.some(({ restoring }) => restoring);
  const awaiting = waiting?.for === 'approval' || waiting?.for === 'decision' ? waiting.for : null;
  return {
    called,
    phase: outcome !== null ? 'ended' : isRestoring ? 'restoring' : 'forward',
    paused: taken.findLast(({ kind }) => kind === 'pause' || kind === 'resume')?.kind === 'pause',
    awaiting,
    ahead: skippable(request).filter(
      (what) =>
        !taken.some((said) => said.kind === 'skip' && said.what === what) &&
        (isAwaited(progress, what) || !steps.some((step) => isOver(step, what))),
    ),
    requestedBy: progress.requestedBy ?? request.requestedBy,
    approval,
    madeBy,
    approvedBy: taken.filter(({ kind }) => kind === 'approve').map(({ by }) => by),
  };
}

/** The parts that a `skip` may skip, in order. */
export function skippable({ freezes = [], checks, soakMs, judged }: StandingRequest): readonly string[] {
  return [
    ...(freezes.length > 0 ? [FREEZE] : []),
    ...checks.map(({ name }) => name),
    ...(soakMs > 0 ? [SOAK] : []),
    ...(judged === true ? [JUDGE] : []),
  ];
}

/** Whether the wait for a person, or for the end of a freeze, follows from it: its step has ended, but not its part. */
function isAwaited({ waiting, steps }: Progress, what: string): boolean {
  if (waiting?.for === 'decision') return what === JUDGE && steps.at(-1)?.step === 'judge';
  return waiting?.for === 'freeze' && what === FREEZE;
}

function isOver({ step, subject, restoring, status }: StepRecord, what: string): boolean {
  if (restoring || (status !== 'done' && status !== 'skipped')) return false;
  const skipped = stepOfSkip(what);
  return step === skipped && (skipped !== 'check' || subject === what);
}

export function stepOfSkip(what: string): 'freeze' | 'soak' | 'judge' | 'check' {
  return what === FREEZE || what === SOAK || what === JUDGE ? what : 'check';
}
