import type { ArtifactName, Beginning, Guarded, Plan } from './plan.ts';
import type { ReleaseModel } from './releaseModel.ts';
import type { Situation } from './situations.ts';

export interface Guard {
  readonly release: string;
  readonly revision: number;
  readonly how: Guarded;
  /** How many measurements in a row had no data. */
  readonly missed: number;
  readonly hadData: boolean;
  /** A person terminated it, which the target does not know yet. */
  readonly isTerminated?: true;
  /** Absent: it goes on. */
  readonly ended?: 'worse' | 'replaced' | 'preempted' | 'passed' | 'canceled' | 'unknown';
  /** The release that was about to change what serves. */
  readonly preemptedBy?: string | undefined;
}

export interface Known {
  readonly revision: number;
  readonly verified: boolean;
  /** The artifact that it runs, if the target deployed it. */
  readonly artifact?: ArtifactName;
  /** The release that created it, or its original. */
  readonly release?: string;
  readonly copyOf?: number;
  /** The revision that served before its release. */
  readonly replaced?: number | null;
  /** A person rolled back from it. */
  readonly left: boolean;
  /** The check that it passed, or that a person skipped (`null`). Absent: not recorded. */
  readonly passed?: Check | null;
}

/** A check: one that every artifact passes, or only one artifact. */
export type Check = 'all' | ArtifactName;

/** The id of the rollback with which the target reverts a late revision. It sets no hold. */
export const COUNTER = 'late';

export interface Rollback {
  readonly id: string;
  readonly to: number | undefined;
  readonly from?: number;
  /** Absent: it sets a hold. */
  readonly holds?: false;
}

/** A revision that was given up on and may still become active, and the one to restore then. */
export interface Late {
  readonly revision: number;
  readonly restoreTo: number;
}

export interface Waiting {
  readonly id: string;
  readonly plan: Plan;
}

export interface Submission {
  readonly id: string;
  readonly plan: Plan;
  readonly releaseId: string;
  readonly disposition: 'queued' | 'joined' | 'already_released' | 'rejected';
  withdrawn: boolean;
}

export interface Ending {
  readonly id: string;
  readonly kind: 'release' | 'rollback';
  readonly outcome: string;
  /** The serving revision, as far as it is known. */
  readonly serving: number | null;
  readonly revision?: number | null;
  readonly plan?: Plan;
  readonly baseline?: number | null;
  readonly failedCheck?: boolean;
  readonly news: readonly Known[];
  readonly givenUp?: readonly number[];
  /** The revisions that were restored, or tried. */
  readonly tried: readonly number[];
  /** The rollback that stopped it, or that it carried out. */
  readonly rollback?: Rollback | null;
}

/** The original of a copy; the revision itself if it is none. */
export function originalOf(known: readonly Known[], revision: number): number {
  return known.find((one) => one.revision === revision)?.copyOf ?? revision;
}

export function isSame(known: readonly Known[], one: number | null, other: number | null): boolean {
  return one !== null && other !== null && originalOf(known, one) === originalOf(known, other);
}

/** A simple model of a target, written from the design. Revisions are numbered in their order. */
export class TargetModel {
  readonly beginning: Beginning;
  // The control plane.
  readonly revisions = new Map<number, ArtifactName | 'other'>();
  /** Revisions that cannot be deployed again. */
  readonly ruined = new Set<number>();
  /** Revisions that were seen to fail: no release waits for them any more. */
  readonly failed = new Set<number>();
  deployed = false;
  active: number | null = null;
  providerIsAway = false;
  isSlow = false;
  /** How many commands of this sequence were possible. */
  commands = 0;
  readonly met = new Set<Situation>();
  // The target.
  started = false;
  canceled = false;
  taken = false;
  believed: number | null = null;
  known: readonly Known[] = [];
  readonly quarantined = new Set<ArtifactName>();
  readonly failedChecks = new Map<ArtifactName, number>();
  hold: { readonly by: string } | null = null;
  queue: readonly Waiting[] = [];
  rollbacks: readonly Rollback[] = [];
  late: readonly Late[] = [];
  /** The late revision that has become active. */
  overtaker: Late | null = null;
  drift: { readonly expected: number; readonly found: number | null } | null = null;
  running: ReleaseModel | null = null;
  readonly endings: (Pick<Ending, 'id' | 'outcome' | 'serving'> &
    Pick<Ending, 'plan' | 'revision'> & { readonly missed?: boolean })[] = [];
  restored: number | null = null;
  guard: Guard | null = null;
  ran = 0;
  ignored = 0;
  /** In the order of sending. */
  readonly submissions: Submission[] = [];
  /** Those that are answered alike if they are sent again: not those that a reset has refused since. */
  repeatable: Submission[] = [];
  readonly requestIds: string[] = [];
  #number = 0;

  constructor(beginning: Beginning) {
    this.beginning = beginning;
    if (beginning.deployment === 'empty') return;
    this.deployed = true;
    this.active = this.make('other');
    if (beginning.deployment === 'elsewhere') return;
    this.believed = this.active;
    this.known = [{ revision: this.active, verified: true, left: false }];
  }

  make(what: ArtifactName | 'other'): number {
    const revision = this.revisions.size + 1;
    this.revisions.set(revision, what);
    return revision;
  }

  number(kind: 'release' | 'rollback'): string {
    this.#number++;
    return `${kind}-${this.#number}`;
  }

  passes(revision: number, check: Check): boolean {
    const what = this.revisions.get(revision) ?? 'other';
    return !this.providerIsAway && what !== 'fails' && (check === 'all' || check === what);
  }

  get servesCopy(): boolean {
    return this.known.some(({ revision, copyOf }) => revision === this.active && copyOf !== undefined);
  }

  /** Whether it is restored only by name, verified or not. */
  isShunned({ left, artifact }: Known): boolean {
    return left || (artifact !== undefined && this.quarantined.has(artifact));
  }

  /** A person leaves a revision: it and its copies are then restored only by name. */
  leave(revision: number): void {
    if (originalOf(this.known, revision) !== revision) this.met.add('a copy is left');
    if (!this.known.some((one) => one.revision === revision)) {
      this.known = [...this.known, { revision, verified: false, left: true, replaced: this.believed }];
    }
    this.known = this.known.map((one) =>
      isSame(this.known, one.revision, revision) ? { ...one, left: true } : one,
    );
  }

  /** The newest good revision of a release before the given revision's, and no newer than what that one replaced. */
  before(leaving: number | null): number | undefined {
    const ages = [...new Set(this.known.map(({ revision }) => originalOf(this.known, revision)))];
    const ageOf = (revision: number | null): number =>
      revision === null ? -1 : ages.indexOf(originalOf(this.known, revision));
    const replaced = ageOf(this.known.find(({ revision }) => revision === leaving)?.replaced ?? null);
    const end = replaced === -1 ? ageOf(leaving) : replaced + 1;
    for (const original of (end === -1 ? ages : ages.slice(0, end)).reverse()) {
      const good = this.known.findLast(
        (one) => one.verified && !this.isShunned(one) && isSame(this.known, one.revision, original),
      );
      if (good !== undefined) return good.revision;
    }
    return undefined;
  }

  neverStarted(ids: readonly string[], outcome: string): void {
    for (const id of ids) this.endings.push({ id, outcome, serving: null });
  }

  /** Rejects queued releases because of a rollback or a hold. */
  reject(waiting: (release: Waiting) => boolean): void {
    this.neverStarted(
      this.queue.filter(waiting).map(({ id }) => id),
      'rejected',
    );
    this.queue = this.queue.filter((release) => !waiting(release));
  }

  quarantine(artifact: ArtifactName): void {
    this.quarantined.add(artifact);
    this.reject(({ plan }) => plan.artifact === artifact);
    this.#reportQuarantine(artifact);
  }

  /** The running release does not restore what is in quarantine now. */
  #reportQuarantine(artifact: ArtifactName): void {
    if (this.running === null || !this.known.some((known) => known.artifact === artifact)) return;
    const shunned = this.known.filter((known) => this.isShunned(known));
    this.running.noteShunned(shunned.map(({ revision }) => revision));
  }

  /** Whether an artifact has failed checks, is quarantined, or was left by a person. */
  isHeldAgainst(artifact: ArtifactName): boolean {
    return (
      this.failedChecks.has(artifact) ||
      this.known.some((known) => known.artifact === artifact && this.isShunned(known)) ||
      this.quarantined.has(artifact)
    );
  }

  unquarantine(artifact: ArtifactName): void {
    this.quarantined.delete(artifact);
    this.failedChecks.delete(artifact);
    this.known = this.known.map((known) => (known.artifact === artifact ? { ...known, left: false } : known));
    this.#reportQuarantine(artifact);
  }

  /** A release or a rollback is about to change what serves. */
  preemptGuard(situation: Situation): void {
    if (this.guard === null || this.guard.ended !== undefined) return;
    this.met.add(situation);
    const ended = this.guard.isTerminated === true ? 'unknown' : 'preempted';
    this.guard = { ...this.guard, ended, preemptedBy: this.running?.id };
  }

  /** The release that preempted the guard waits again, before it changes anything. */
  guardOn(release: string): void {
    const { guard, believed, known } = this;
    if (guard?.ended !== 'preempted' || guard.preemptedBy !== release) return;
    if (believed !== null && isSame(known, believed, guard.revision))
      this.#begin(guard.release, believed, guard.how);
  }

  #begin(release: string, revision: number, how: Guarded): void {
    this.guard = { release, revision, how, missed: 0, hadData: false };
  }

  end(ending: Ending): void {
    this.ran++;
    const { id, outcome, serving, plan, revision } = ending;
    const unknown = outcome === 'errored' || outcome === 'rollback_failed';
    const all = [...this.known, ...ending.news];
    const tried = ending.tried.length > 0;
    const isSettled = (rollback: Rollback): boolean => {
      const { to, from } = rollback;
      if (ending.kind === 'rollback') {
        const isGood = all.findLast((one) => one.revision === serving)?.verified === true;
        const isReached = from === undefined && isSame(all, serving, to ?? null);
        return rollback === this.rollbacks[0] || (outcome === 'rolled_back' && isGood && isReached);
      }
      if (outcome === 'errored' && serving === null) return false;
      // A rollback to its own revision has only ended its soak.
      if (outcome === 'released') return from === undefined && isSame(all, serving, to ?? null);
      if (tried && rollback === ending.rollback && (to !== undefined || from === undefined)) return true;
      if (from !== undefined) return serving !== null && !isSame(all, serving, from);
      return to === undefined ? tried : isSame(all, serving, to);
    };
    // One that is open changes what serves, so those after it are open, too.
    const open = this.rollbacks.findIndex((rollback) => !isSettled(rollback));
    const settled = open === -1 ? this.rollbacks : this.rollbacks.slice(0, open);
    const changedNothing = ending.kind === 'rollback' && outcome === 'failed';
    this.rollbacks = this.rollbacks.filter((rollback) => !settled.includes(rollback));
    if (changedNothing && settled[0]?.id === this.hold?.by) {
      const next = this.rollbacks.find(({ id: asked }) => asked !== COUNTER);
      this.hold = next === undefined ? null : { by: next.id };
    }
    this.#noteDrift(ending);
    const givenUp = ending.givenUp ?? [];
    this.late = [
      ...this.late.filter(
        ({ revision: late }) => late !== serving && !givenUp.includes(late) && !this.failed.has(late),
      ),
      ...(serving === null
        ? []
        : givenUp.filter((late) => late !== serving).map((late) => ({ revision: late, restoreTo: serving }))),
    ];
    this.believed = serving ?? (unknown ? null : this.believed);
    const known = new Map(this.known.map((one) => [one.revision, one]));
    for (const one of ending.news) known.set(one.revision, one);
    const left = new Set(all.filter((one) => one.left).map(({ revision: one }) => originalOf(all, one)));
    for (const { to, from } of settled)
      if (to !== undefined && from === undefined && isSame(all, serving, to))
        left.delete(originalOf(all, to));
    this.known = [...known.values()].map((one) => ({
      ...one,
      left: left.has(originalOf(all, one.revision)),
    }));
    if (tried && serving !== null && outcome !== 'rollback_failed') this.restored = serving;
    this.endings.push({
      id,
      outcome,
      serving,
      plan,
      revision,
      missed: isMissed(ending, all),
    });
    const serves = this.known.find((one) => one.revision === serving);
    const isProven = serves?.verified === true && serves.artifact === plan?.artifact;
    if (plan !== undefined && ending.failedCheck === true && outcome !== 'errored' && !isProven) {
      const times = (this.failedChecks.get(plan.artifact) ?? 0) + 1;
      this.failedChecks.set(plan.artifact, times);
      if (times >= 2) {
        this.met.add('an artifact is quarantined by its failures');
        this.quarantine(plan.artifact);
      }
    }
    if (this.servesCopy) this.met.add('a copy serves');
    this.#guardAfter(ending);
  }

  /** What is released is guarded. It is guarded again if it still serves, or was restored without a person's rollback. */
  #guardAfter({ id, kind, outcome, serving, plan, rollback, tried }: Ending): void {
    const { guard } = this;
    if (serving === null) return;
    if (outcome === 'released' && plan?.guard != null) {
      this.#begin(id, serving, plan.guard);
      return;
    }
    if (guard?.ended === undefined || guard.ended === 'worse') return;
    const isPersons = rollback != null && rollback.id !== COUNTER && tried.length > 0;
    if (isPersons || !isSame(this.known, serving, guard.revision)) return;
    if (guard.ended === 'passed') {
      this.met.add('a guard that passed serves again');
      return;
    }
    if (guard.ended === 'canceled' || guard.ended === 'unknown') {
      const how = guard.ended === 'canceled' ? 'canceled' : 'terminated';
      this.met.add(`a guard that a person ${how} serves again`);
      return;
    }
    this.met.add(`a guard begins again after a ${kind}`);
    if (serving !== guard.revision) this.met.add('a guard begins again on a copy');
    this.#begin(guard.release, serving, guard.how);
  }

  #noteDrift({ baseline }: Ending): void {
    if (baseline === undefined || this.believed === null) return;
    const ours = baseline === this.believed || this.late.some(({ revision }) => revision === baseline);
    this.drift = ours ? null : { expected: this.believed, found: baseline };
  }
}

/** Whether another revision was restored than the one that a person named. */
function isMissed({ rollback, tried, serving, outcome }: Ending, known: readonly Known[]): boolean {
  const named = rollback?.from === undefined ? rollback?.to : undefined;
  if (named === undefined || tried.length === 0) return false;
  if (outcome === 'rollback_failed' || outcome === 'errored') return false;
  return !isSame(known, serving, named);
}
