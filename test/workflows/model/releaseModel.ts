import type { Plan, Stop } from './plan.ts';
import { copiesOf, counter, type Found, restore, rollBack } from './putBack.ts';
import {
  type Check,
  isSame,
  type Known,
  type Rollback,
  type TargetModel,
  type Waiting,
} from './targetModel.ts';

type Step = Stop | 'end';

type Failure = 'refused' | 'not told' | 'revision failed' | 'check failed' | 'replaced';

/** The model of one running release. It proceeds until something holds it. */
export class ReleaseModel {
  readonly id: string;
  readonly plan: Plan;
  stage: Stop | 'paused' | 'decision' = 'approval';
  paused = false;
  skipped = false;
  soakSkipped = false;
  freezeSkipped = false;
  aborted = false;
  preemptedBy: Rollback | null = null;
  /** Whether Temporal cancels it if the target is terminated. */
  isChild = true;
  /** The revisions that people have asked to leave meanwhile. */
  readonly left: number[] = [];
  readonly #model: TargetModel;
  #known: readonly (Known & { readonly shunned: boolean })[];
  readonly #baseline: { readonly revision: number | null; readonly verified: boolean };
  readonly #news: Known[] = [];
  /** The findings on the previous revision, and on its own. */
  #foundBefore: readonly Found[] = [];
  readonly #found: Found[] = [];
  #step: Step = 'approval';
  /** Whether the step's gate has let it pass. */
  #gateIsOpen = false;
  /** Whether the step has begun: then a pause comes too late for it. */
  #begun = false;
  #patches: Plan['patch'];
  #checks: Plan['check'];
  #soak: Plan['soak'];
  #revision: number | null = null;
  #mayHaveChanged = false;
  #served = false;
  #failedInSoak = false;

  constructor(model: TargetModel, { id, plan }: Waiting) {
    this.id = id;
    this.plan = plan;
    this.#model = model;
    this.#patches = plan.patch;
    this.#checks = plan.check;
    this.#soak = plan.soak;
    this.#known = model.known.map((one) => ({ ...one, shunned: model.isShunned(one) }));
    this.#baseline = this.#lookAtBaseline();
    if (model.servesCopy) model.met.add('a release is made over a copy');
    if (model.isSlow) model.met.add('answers are slow while a release runs');
  }

  /** The revisions in quarantine have changed. */
  noteShunned(shunned: readonly number[]): void {
    this.#known = this.#known.map((one) => ({ ...one, shunned: shunned.includes(one.revision) }));
  }

  get revision(): number | null {
    return this.#revision;
  }

  /** Whether it was stopped. Then it restores what it changed, and accepts no more messages. */
  get stopped(): boolean {
    return this.aborted || this.preemptedBy !== null;
  }

  /** Whether the check has not passed yet, and can be skipped. */
  get checkLiesAhead(): boolean {
    return !this.skipped && this.#step !== 'soak' && this.#step !== 'end';
  }

  get soakLiesAhead(): boolean {
    return this.plan.soak !== 'none' && !this.soakSkipped && this.#step !== 'end';
  }

  /** Whether it has not passed its freezes, and a person can override them. */
  get freezeLiesAhead(): boolean {
    const isAhead = this.#step === 'approval' || this.#step === 'freeze';
    return this.plan.freeze !== 'none' && !this.freezeSkipped && isAhead;
  }

  /** Whether its own revision has begun to soak: a rollback to it then only ends the soak. */
  get soaks(): boolean {
    const hasBegun = this.#step === 'end' || (this.#step === 'soak' && this.#begun);
    return this.plan.soak !== 'none' && hasBegun && !this.stopped;
  }

  open(): void {
    this.#gateIsOpen = true;
    this.#begun = true;
    this.goOn();
  }

  retry(): void {
    this.#begun = false;
    this.goOn();
  }

  skip(): void {
    this.skipped = true;
    const passes = this.stage === 'check' || (this.stage === 'decision' && this.#step === 'check');
    if (passes) this.goOn();
  }

  skipSoak(): void {
    this.soakSkipped = true;
    if (this.stage === 'soak' || (this.stage === 'decision' && this.#step === 'soak')) this.goOn();
  }

  skipFreeze(): void {
    this.freezeSkipped = true;
    if (this.stage === 'freeze') this.goOn();
  }

  /** A person rolls back to the revision that soaks. */
  endSoak(): void {
    this.paused = false;
    this.soakSkipped = true;
    this.goOn();
  }

  stop(): void {
    if (this.stage === 'soak') this.#model.met.add('a release is stopped in its soak');
    if (this.stage === 'approval' && this.#model.servesCopy)
      this.#model.met.add('a release is stopped at its approval over a copy');
    if (this.stage === 'freeze') this.#model.met.add('a release is stopped while it is frozen');
    // A running PATCH is awaited.
    if (this.stage !== 'patch') this.goOn();
  }

  goOn(): void {
    for (;;) {
      const failure = this.#take();
      if (failure === 'held up') return;
      if (failure === 'went well') continue;
      const { onError } = this.plan;
      if (failure === 'not told' && onError === 'wait' && !this.stopped) {
        this.stage = 'decision';
        if (this.#step === 'patch') this.#model.guardOn(this.id);
        return;
      }
      this.#restore(failure);
      return;
    }
  }

  /** Its workflow is terminated: it leaves no result, and no record. */
  vanish(): void {
    const { id, plan } = this;
    this.#model.end({ id, plan, kind: 'release', outcome: 'errored', serving: null, news: [], tried: [] });
    this.#model.ran--;
    this.#model.running = null;
  }

  #take(): Failure | 'went well' | 'held up' | 'released' | 'stopped' {
    const step = this.#step;
    if (this.stopped && !(step === 'patch' && this.stage === 'patch')) return 'stopped';
    if (step === 'check' && this.skipped) return this.#next('soak');
    if (step === 'freeze' && this.freezeSkipped) return this.#passFreeze();
    if (step === 'end' || (step === 'soak' && !this.soakLiesAhead)) return this.#end();
    if (this.paused && step !== 'approval' && !this.#begun) return this.#holdUp('paused');
    this.#begun = true;
    if (step === 'patch') this.#model.preemptGuard('a guard makes way for a release');
    if (step !== 'soak' && this.plan.stop === step && !this.#gateIsOpen) return this.#holdUp(step);
    switch (step) {
      case 'approval':
        return this.#next('freeze');
      case 'freeze':
        return this.#passFreeze();
      case 'upload':
        return this.plan.upload === 'refused' ? 'refused' : this.#next('patch');
      case 'patch':
        return this.#patch();
      case 'deployed':
        return this.#bringUp();
      case 'check':
        return this.#check();
      case 'soak':
        return this.#takeRound();
    }
  }

  #passFreeze(): 'stopped' | 'went well' {
    const { freeze } = this.plan;
    if (freeze !== 'none') this.#model.met.add(`a freeze ${this.freezeSkipped ? 'is skipped' : freeze}`);
    if (freeze !== 'refuses' || this.freezeSkipped) return this.#next('upload');
    this.aborted = true;
    return 'stopped';
  }

  #patch(): Failure | 'went well' {
    const patch = this.#patches;
    this.#patches = 'answered';
    if (patch === 'refused') return 'refused';
    this.#mayHaveChanged = true;
    if (patch === 'never answered' || (patch === 'lost' && this.stopped)) return 'not told';
    this.#revision = this.#model.make(this.plan.artifact);
    this.stage = 'deployed';
    return this.#next('deployed');
  }

  #bringUp(): Failure | 'went well' {
    if (this.plan.artifact === 'breaks') return 'revision failed';
    if (this.plan.artifact === 'hangs') return 'not told';
    this.#model.active = this.#revision;
    this.#served = true;
    return this.#next('check');
  }

  /** A pause also applies before the end. */
  #end(): 'released' | 'held up' {
    this.#step = 'end';
    return this.paused ? this.#holdUp('paused') : 'released';
  }

  #check(): Failure | 'went well' {
    const checks = this.#checks;
    this.#checks = 'answered';
    this.#found.pop();
    if (checks !== 'unreachable' && this.#model.passes(this.#revision ?? 0, this.#question))
      return this.#next('soak');
    this.#found.push({ check: this.#question, silent: checks === 'unreachable' });
    return checks === 'unreachable' ? 'not told' : 'check failed';
  }

  /** A round of the soak. Unless something holds the release, it is the last one. */
  #takeRound(): Failure | 'released' | 'held up' {
    const { met, active } = this.#model;
    const isHeld = this.plan.stop === 'soak' && !this.#gateIsOpen;
    const answers = isHeld ? 'answered' : this.#soak;
    if (!isHeld) this.#soak = 'answered';
    this.#found.pop();
    if (active !== this.#revision) {
      met.add('another revision replaces one that soaks');
      return 'replaced';
    }
    if (!this.skipped && answers === 'fails for all') this.#model.providerIsAway = true;
    if (!this.skipped && answers === 'unreachable') {
      met.add('an agent falls silent in a soak');
      return 'not told';
    }
    if (!this.skipped && (answers === 'fails' || !this.#model.passes(active ?? 0, this.#question))) {
      met.add('a check fails in a soak');
      this.#failedInSoak = true;
      this.#found.push({ check: this.#question, silent: false });
      return 'check failed';
    }
    if (isHeld) return this.#holdUp('soak');
    if (this.#gateIsOpen) met.add('the time of a soak is skipped');
    return this.#end();
  }

  get #question(): Check {
    return this.plan.asks === 'what all answer' ? 'all' : this.plan.artifact;
  }

  #holdUp(stage: ReleaseModel['stage']): 'held up' {
    this.stage = stage;
    if (stage === 'freeze') this.#model.met.add('a release waits for a freeze');
    if (stage === 'approval' && this.#model.servesCopy)
      this.#model.met.add('a release waits for approval over a copy');
    return 'held up';
  }

  #next(step: Step): 'went well' {
    this.#step = step;
    this.#gateIsOpen = false;
    this.#begun = false;
    return 'went well';
  }

  #lookAtBaseline(): { readonly revision: number | null; readonly verified: boolean } {
    const model = this.#model;
    if (!model.deployed) {
      model.make('other');
      model.deployed = true;
      return { revision: null, verified: false };
    }
    const { active } = model;
    if (active === null) return { revision: null, verified: false };
    const known = this.#known.find(({ revision }) => revision === active);
    if (known !== undefined) return { revision: active, verified: known.verified };
    const verified = model.passes(active, this.#question);
    this.#news.push({
      revision: active,
      verified,
      left: false,
      ...(verified ? { passed: this.#question } : {}),
    });
    if (!verified) this.#foundBefore = [{ check: this.#question, silent: false }];
    return { revision: active, verified };
  }

  /** What a release that changed nothing says of what serves. A rollback to the baseline has it read. */
  get #servingUnchanged(): number | null {
    const { revision } = this.#baseline;
    if (this.preemptedBy === null) return revision;
    const { to, from } = this.preemptedBy;
    if (from !== undefined) return from === revision ? revision : null;
    const isAskedFor = isSame(this.#known, to ?? null, revision);
    return isAskedFor && this.#model.active === revision ? revision : null;
  }

  #restore(why: Failure | 'released' | 'stopped'): void {
    const model = this.#model;
    const baseline = this.#baseline;
    const common = {
      id: this.id,
      kind: 'release' as const,
      plan: this.plan,
      revision: this.#revision,
      baseline: baseline.revision,
      failedCheck: why === 'check failed' && !this.stopped,
      tried: [],
      rollback: this.preemptedBy,
    };
    const news = this.#news;
    const untouched = this.stopped ? 'aborted' : 'failed';
    const givenUp =
      this.#revision === null || why === 'revision failed' || this.#served ? [] : [this.#revision];
    if (why === 'released') {
      const revision = this.#revision ?? 0;
      const { id: release, plan } = this;
      const passed = this.skipped ? null : this.#question;
      const made = { revision, artifact: plan.artifact, release, left: false, replaced: baseline.revision };
      const own = { ...made, verified: !this.skipped, passed };
      model.end({ ...common, outcome: 'released', serving: revision, news: [...news, own] });
    } else if (!this.#mayHaveChanged) {
      model.end({ ...common, outcome: untouched, serving: this.#servingUnchanged, news });
    } else if (why === 'not told' && this.plan.onError === 'stop' && !this.stopped) {
      model.end({ ...common, outcome: 'errored', serving: model.active, news, givenUp });
    } else {
      const known = [...this.#known, ...news.map((one) => ({ ...one, shunned: false }))];
      const own = this.#revision === null ? [] : [this.#revision];
      const left = this.left.flatMap((one) => copiesOf(known, one));
      const { to = null, from } = this.preemptedBy ?? {};
      const isShunned = known.some(({ revision, shunned }) => revision === to && shunned);
      const wish = {
        // The target chose it, and may not have known.
        to: from !== undefined && (isShunned || left.includes(to ?? 0)) ? undefined : (to ?? undefined),
        manual: this.preemptedBy !== null,
        baseline,
        found: [...this.#foundBefore, ...this.#found],
        asks: this.#question,
      };
      const back = restore(model, known, { ...wish, avoid: [...own, ...left] });
      const { tried } = back;
      const found = { ...common, news: [...news, ...back.news], tried, givenUp };
      const ours =
        this.#revision === null ? model.active !== baseline.revision : model.active === this.#revision;
      const isUntouched = back.revision === null && tried.length === 0 && !ours;
      const restored = this.preemptedBy === null && this.aborted ? 'aborted' : 'rolled_back';
      const failed = isUntouched ? untouched : 'rollback_failed';
      const reached = back.stays ? 'errored' : restored;
      if (back.stays && this.#failedInSoak && !wish.manual)
        model.met.add('a check that failed in a soak fails on what is restored');
      model.end({
        ...found,
        outcome: back.revision === null ? failed : reached,
        serving: back.revision ?? model.active,
      });
    }
    model.running = null;
    work(model);
  }
}

/** Starts queued work until nothing is left, or a release is held. */
export function work(model: TargetModel): void {
  while (model.running === null) {
    counter(model);
    const [rollback] = model.rollbacks;
    const [waiting, ...rest] = model.queue;
    if (rollback !== undefined) {
      rollBack(model, rollback);
    } else if (waiting !== undefined) {
      model.queue = rest;
      model.running = new ReleaseModel(model, waiting);
      model.running.goOn();
      return;
    } else {
      return;
    }
  }
}
