import { type Actor, isSameActor } from '../actor.ts';
import { type Bound, newest } from '../bounds.ts';
import type { Instant, WholeNumber } from '../scalars.ts';

/** The commands that a person may send to a running release. */
export const INTERVENTION_KINDS = [
  /** Stop, and restore what was changed. */
  'abort',
  /** Begin no further step. */
  'pause',
  /** Continue after a pause. */
  'resume',
  /** Approve a release that waits for approval. */
  'approve',
  /** End a release that waits for approval. */
  'reject',
  /** Retry a step whose outcome is unknown. */
  'retry',
  /** Skip a check, the rest of the soak, the judge, or a freeze. */
  'skip',
] as const;

/** @open */
export type InterventionKind = (typeof INTERVENTION_KINDS)[number];

/** The name of the soak in a `skip`. */
export const SOAK = 'soak';

/** The name of the freezes in a `skip`. */
export const FREEZE = 'freeze';

/** The name of the judge in a `skip`. */
export const JUDGE = 'judge';

/** What is wrong with a check's name; `undefined` if nothing. A `skip` names checks and other parts in one field. */
export function checkNameProblem(name: string): string | undefined {
  const others: readonly string[] = [SOAK, FREEZE, JUDGE];
  return others.includes(name) ? `expected another name: "slipway skip" means the ${name} by it` : undefined;
}

/** A command that a person sent to a release. */
export interface Intervention {
  /** Interventions with the same id are one. */
  readonly id: string;
  readonly kind: InterventionKind;
  /** What a `skip` skips: the name of a check, `soak`, `judge`, or `freeze`. */
  readonly what?: string;
  readonly by: Actor;
  /** The record with the proof of who sent it; absent if no proof is needed, or once it is proved. */
  readonly identity?: string;
}

/** An intervention in a release or a promotion, and its effect. */
export interface InterventionRecord extends Omit<Intervention, 'kind' | 'identity'> {
  /** `preempt`: the target's own, for a rollback. `unknown`: a signal whose name the note begins with. */
  readonly kind: InterventionKind | 'preempt' | 'unknown';
  readonly at: Instant;
  /** `false`: it came at the wrong moment, and changed nothing. */
  readonly taken: boolean;
  /** What it changed, or why it changed nothing. */
  readonly note: string;
}

/** The limit for accepted interventions, and also for ignored ones. */
const KEPT: Bound = { items: 50, bytes: 100_000 };

/** Adds an intervention, and keeps the newest. Ignored ones never displace accepted ones. */
export function addIntervention(
  said: readonly InterventionRecord[],
  record: InterventionRecord,
): readonly InterventionRecord[] {
  const all = [...said, record];
  const taken = all.filter((one) => one.taken);
  const ignored = all.filter((one) => !one.taken);
  const kept = new Set([...newest(taken, KEPT), ...newest(ignored, KEPT)]);
  return all.filter((one) => kept.has(one));
}

export interface InterventionAnswer {
  readonly id: string;
  readonly disposition: 'taken' | 'repeated';
  readonly note: string;
}

/** Who must approve before a release changes its target. */
export interface ApprovalPolicy {
  /** How many people must approve. */
  readonly required: WholeNumber;
  /** Who may approve. Absent: anyone except the person who asked for the release. */
  readonly approvers?: readonly string[];
  /** How long the release waits for approval. */
  readonly withinMs: WholeNumber;
  /** What happens after that. Absent: `reject`, so the release ends `aborted`. */
  readonly otherwise?: 'reject' | 'approve';
  /** `oidc`: who asked and who approves must prove who they are. Absent: names are claimed. */
  readonly identity?: 'oidc';
}

/** Why there are fewer approvers than required approvals; `undefined` if there are enough. */
export function tooFewApprovers({
  required,
  approvers,
}: Pick<ApprovalPolicy, 'required' | 'approvers'>): string | undefined {
  const people = new Set(approvers).size;
  if (approvers === undefined || people >= required) return undefined;
  return `can never be reached: ${people === 1 ? 'one person' : `${people} people`} may approve`;
}

/** The state of a release or a promotion that decides which interventions are possible. */
export interface Standing {
  /** What it is called. Default: a release. */
  readonly called?: 'promotion';
  readonly phase: 'forward' | 'restoring' | 'ended';
  readonly paused: boolean;
  /** What it waits for a person to do. */
  readonly awaiting: 'approval' | 'decision' | null;
  /** The checks that are still to pass, and `freeze`, `soak` and `judge` until they have passed. */
  readonly ahead: readonly string[];
  readonly requestedBy: Actor;
  readonly approval: ApprovalPolicy | null;
  /** Who made the change to approve, beside the requester. */
  readonly madeBy?: readonly Actor[];
  readonly approvedBy: readonly Actor[];
}

/** Why a release cannot accept an intervention now; `undefined` if it can. */
export function interventionProblem(standing: Standing, said: Omit<Intervention, 'id'>): string | undefined {
  const { phase, paused, awaiting, called = 'release' } = standing;
  if (phase === 'ended') return `the ${called} has ended`;
  if (phase === 'restoring')
    return `the ${called} is ending already; any change it made is undone, which is never stopped halfway`;
  switch (said.kind) {
    case 'abort':
      return undefined;
    case 'pause':
      return paused ? `the ${called} is paused already` : undefined;
    case 'resume':
      return paused ? undefined : `the ${called} is not paused`;
    case 'approve':
      return awaiting === 'approval'
        ? approvalProblem(standing, said)
        : `the ${called} does not wait for approval`;
    case 'reject':
      return awaiting === 'approval' ? undefined : `the ${called} does not wait for approval`;
    case 'retry':
      return awaiting === 'decision' ? undefined : `no step of the ${called} waits for a decision`;
    case 'skip':
      return skipProblem(standing, said.what);
  }
}

/**
 * Who may approve, as a part of a sentence.
 * @param approvers - default: anyone.
 * @param madeBy - who released the artifact: they cannot approve it.
 */
export function mayApprove(approvers: readonly string[] | undefined, madeBy: readonly Actor[] = []): string {
  const makers = madeBy.map(({ who }) => who);
  if (approvers !== undefined)
    return `${approvers.filter((name) => !makers.includes(name)).join(' or ') || 'no one'} may approve`;
  const orMakers = makers.length === 0 ? '' : ` and ${makers.join(' and ')}, who released the artifact,`;
  return `anyone except the person who asked for it${orMakers} may approve`;
}

/** The problems of an approval. If it comes with an unverified proof, it is checked again after the verification. */
function approvalProblem(
  { approval, requestedBy, madeBy = [], approvedBy }: Standing,
  { by, identity }: Omit<Intervention, 'id'>,
): string | undefined {
  const { proved } = by;
  if (approval?.identity === 'oidc' && proved === undefined) {
    return identity === undefined
      ? 'an approval of it requires proof of identity: "slipway login", then "slipway approve", or sign in to the page with OIDC'
      : undefined;
  }
  if (isSameActor(by, requestedBy)) return 'the person who asked for it cannot approve it';
  if (madeBy.some((maker) => isSameActor(by, maker)))
    return 'the person who released the artifact cannot approve it';
  if (approvedBy.some((other) => isSameActor(by, other))) return `${by.who} has approved already`;
  const approvers = approval?.approvers;
  if (approvers !== undefined && !approvers.includes(by.who)) {
    return `${by.who} may not approve; these may: ${approvers.join(', ')}`;
  }
  if (proved?.job === true && approvers === undefined) {
    return `${by.who} is a CI job, which may approve only if "approvers" names it`;
  }
  return undefined;
}

function skipProblem(standing: Standing, named: string | undefined): string | undefined {
  const { ahead, called = 'release' } = standing;
  if (ahead.length === 0) return `no check and no soak of the ${called} lies ahead`;
  const names = ahead.join(', ');
  if (named === undefined)
    return `a "skip" must name what it leaves out ("what"); ahead of the ${called}: ${names}`;
  return ahead.includes(named) ? undefined : `"${named}" is not ahead; these are: ${names}`;
}
