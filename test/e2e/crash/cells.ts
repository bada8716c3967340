/**
 * The steps of a release, in their order; after `record` those of a restore, which has the last three once more. The
 * calls by which each is recognized are in {@link file://./killPoint.ts}.
 */
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

/** When in a step a process dies. */
export const MOMENTS = [
  /** The call has been sent and has not reached the server. */
  'before',
  /** The server has carried the call out, and its answer has not arrived. */
  'unanswered',
  /** The answer has arrived, and Temporal does not know of it. */
  'answered',
  /** The step has asked several times, and what it waits for is not there yet. */
  'polling',
] as const;
export type Moment = (typeof MOMENTS)[number];

/** Who dies, by `kill -9`. */
export const VICTIMS = ['worker', 'platform', 'agent', 'temporal', 'cli'] as const;
export type Victim = (typeof VICTIMS)[number];

/** What the control plane is like. */
export const CONTROL_PLANES = [
  /** As the platform is. */
  'whole',
  /** It has no list of revisions, as contract 000 has none. */
  'no list',
  /** Its answer to a PATCH still names the latest revision of before. */
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

/** How a cell is called on the command line and in tables: `worker/upload-url/before`, `worker/patch/before/no-list`. */
export function cellName({ step, moment, victim, controlPlane }: Cell): string {
  const names = [victim, step, moment, ...(controlPlane === 'whole' ? [] : [controlPlane])];
  return names.map((name) => name.replaceAll(' ', '-').toLowerCase()).join('/');
}

const POLLED: ReadonlySet<Step> = new Set(['deployed', 'serving', 'deployed again', 'serving again']);
/** The steps that go on from what the control plane says of revisions. */
const NAMED_BY_ANSWERS: Readonly<Record<Exclude<ControlPlane, 'whole'>, ReadonlySet<Step>>> = {
  'no list': new Set(['patch', 'redeploy']),
  'old latest': new Set(['patch']),
};
const RESTORING: ReadonlySet<Step> = new Set(['redeploy', 'deployed again', 'serving again', 'check again']);

/** Whether a step is one of putting the revision before back. */
export function isRestoring(step: Step): boolean {
  return RESTORING.has(step);
}

/** Why a combination cannot be met, or is another one by another name; `undefined` for a cell of the matrix. */
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
