/** The steps of a release in order, then those of a restore, which repeats the last three. Calls: `killPoint.ts`. */
export const STEPS = [
  'find',
  'create',
  'baseline check',
  'upload URL',
  'upload',
  'patch',
  'deployed',
  'serving',
  'check',
  'record',
  'redeploy',
  'deployed again',
  'serving again',
  'check again',
] as const;
export type Step = (typeof STEPS)[number];

/** When during a step a process dies. */
export const MOMENTS = [
  /** The call has been sent but has not reached the server. */
  'before',
  /** The server has executed the call; its answer has not arrived. */
  'unanswered',
  /** The answer has arrived; Temporal does not know it yet. */
  'answered',
  /** The step has polled several times, without success so far. */
  'polling',
] as const;
export type Moment = (typeof MOMENTS)[number];

/** Which process dies, by `kill -9`. */
export const VICTIMS = ['worker', 'platform', 'agent', 'temporal', 'cli'] as const;
export type Victim = (typeof VICTIMS)[number];

/** Variants of the control plane. */
export const CONTROL_PLANES = [
  /** The platform itself. */
  'whole',
  /** Without a list of revisions, as in contract 000. */
  'no list',
  /** Its answer to a PATCH still contains the previous latest revision. */
  'old latest',
] as const;
export type ControlPlane = (typeof CONTROL_PLANES)[number];

/** One death in the middle of a release. */
export interface Cell {
  readonly step: Step;
  readonly moment: Moment;
  readonly victim: Victim;
  readonly controlPlane: ControlPlane;
}

/** A cell's name on the command line and in tables: `worker/upload-url/before`, `worker/patch/before/no-list`. */
export function cellName({ step, moment, victim, controlPlane }: Cell): string {
  const names = [victim, step, moment, ...(controlPlane === 'whole' ? [] : [controlPlane])];
  return names.map((name) => name.replaceAll(' ', '-').toLowerCase()).join('/');
}

const POLLED: ReadonlySet<Step> = new Set(['deployed', 'serving', 'deployed again', 'serving again']);
/** The steps that depend on the control plane's answers about revisions. */
const NAMED_BY_ANSWERS: Readonly<Record<Exclude<ControlPlane, 'whole'>, ReadonlySet<Step>>> = {
  'no list': new Set(['patch', 'redeploy']),
  'old latest': new Set(['patch']),
};
const RESTORING: ReadonlySet<Step> = new Set(['redeploy', 'deployed again', 'serving again', 'check again']);

/** Whether a step is part of a restore. */
export function isRestoring(step: Step): boolean {
  return RESTORING.has(step);
}

/** Why a combination is impossible or duplicates another one; `undefined` for a cell of the matrix. */
export function whyNoCell({ step, moment, victim, controlPlane }: Cell): string | undefined {
  if (moment === 'polling' && !POLLED.has(step)) return 'the step asks once';
  if (step === 'upload URL' && moment === 'answered') {
    return 'the upload follows within the same activity: this is the moment before it';
  }
  if (step === 'record' && moment === 'unanswered') return 'the record is a file: no server stands between';
  if (step === 'create' && victim === 'agent') return 'before there is a deployment there is no agent';
  if (controlPlane !== 'whole' && !NAMED_BY_ANSWERS[controlPlane].has(step)) {
    return 'nothing in the step depends on it';
  }
  return undefined;
}

/** Every cell of the matrix. */
export function allCells(): readonly Cell[] {
  return STEPS.flatMap((step) =>
    MOMENTS.flatMap((moment) =>
      CONTROL_PLANES.flatMap((controlPlane) =>
        VICTIMS.map((victim) => ({ step, moment, victim, controlPlane })),
      ),
    ),
  ).filter((cell) => whyNoCell(cell) === undefined);
}
