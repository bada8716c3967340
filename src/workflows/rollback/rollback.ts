import { CancellationScope, setHandler, uuid4, workflowInfo } from '@temporalio/workflow';

import {
  copyMadeElsewhere,
  type DeploymentSnapshot,
  isAnother,
  isSameRevision,
  leaveRevision,
  leftByHand,
  namedRevision,
  quarantineRevisions,
  withCopies,
} from '../../domain/deployment/revision.ts';
import { revisionText, wordsOf } from '../../domain/deployment/revisionName.ts';
import { INTERVENTION_KINDS } from '../../domain/intervention/intervention.ts';
import type { KnownRevision, ReleaseResult } from '../../domain/release/release.ts';
import {
  barredBefore,
  isQuarantined,
  isVerified,
  previousVerified,
} from '../../domain/restore/restoreDecision.ts';
import { isCounter } from '../../domain/target/lateRevisions.ts';
import { targetOf } from '../../domain/target/targetSpec.ts';
import {
  INTERVENTION_SIGNALS,
  INTERVENTION_UPDATES,
  type InterventionMessage,
  readInterventionMessage,
} from '../../messages/release.ts';
import type { RollbackInput } from '../../messages/workflowTypes.ts';
import { claimDeployment } from '../deployment/deployment.ts';
import { endWorkflow, explain, refuse } from '../failure.ts';
import { RollbackProof } from '../identity/proveIdentity.ts';
import { Journal, now } from '../journal.ts';
import { conclude, emptyConclusion, type Ending, instructionsAfter } from '../release/conclude.ts';
import { handleQuarantined, missedText } from '../release/preempted.ts';
import { findDeployment } from '../release/ship.ts';
import { readActive, restore, servesAgain, whileRestoring } from '../restore/restore.ts';
import { Settings } from '../restore/settings.ts';

/** One manual rollback on an idle target. It always runs to its end: it is never rolled back or stopped halfway. */
export async function rollback(input: RollbackInput): Promise<ReleaseResult> {
  return endWorkflow(await CancellationScope.nonCancellable(() => new Rollback(input).run()));
}

class Rollback {
  readonly #input: RollbackInput;
  readonly #journal: Journal;
  readonly #settings: Settings;
  readonly #proof = new RollbackProof();
  /** What the target knew when the rollback began, oldest first. */
  #knownBefore: readonly KnownRevision[];
  /** The revisions that are in quarantine now. `null`: those that were when the rollback began. */
  #quarantined: readonly string[] | null = null;
  /** What a person restored on the control plane before this rollback as a copy, and what they left, marked as left. */
  #byHand: readonly KnownRevision[] = [];

  constructor(input: RollbackInput) {
    const { releaseId, lastGood, lastRequest, known } = input;
    this.#input = input;
    this.#journal = new Journal(releaseId, 'rollback', lastRequest.steps, lastRequest.recordStore);
    this.#settings = new Settings(lastGood, lastRequest.target);
    this.#knownBefore = known;
    refuseInterventions(this.#journal);
    handleQuarantined(this.#journal, (revisionIds) => (this.#quarantined = revisionIds));
  }

  /** Oldest first. */
  get #known(): readonly KnownRevision[] {
    const before = this.#knownBefore;
    const known = this.#quarantined === null ? before : quarantineRevisions(before, this.#quarantined);
    return [...known, ...this.#byHand];
  }

  async run(): Promise<ReleaseResult> {
    const { request, lastRequest } = this.#input;
    this.#proof.begin(request, lastRequest.recordStore, targetOf(workflowInfo().workflowId));
    const deployment = await this.#find();
    if ('outcome' in deployment) return this.#finish(deployment);
    const to = await this.#claim(deployment);
    if (typeof to === 'object') return this.#finish(to);
    return this.#finish(await this.#restore(deployment, to));
  }

  async #find(): Promise<DeploymentSnapshot | Ending> {
    const { lastRequest, knownIn, expected } = this.#input;
    let deployment: DeploymentSnapshot | null;
    try {
      deployment = await whileRestoring(this.#journal, () =>
        this.#settings.under((target) => findDeployment(this.#journal, target)),
      );
    } catch (error) {
      const { code, message } = explain(error);
      return { outcome: 'rollback_failed', code, reason: `the deployment could not be read: ${message}` };
    }
    if (deployment === null) {
      const reason = `there is no deployment "${lastRequest.target.deployment}"`;
      return { outcome: 'failed', code: 'SLIPWAY_NOTHING_TO_RESTORE', reason };
    }
    const { deploymentId, activeRevisionId } = deployment;
    this.#journal.note({ deploymentId });
    if (isAnother(deploymentId, knownIn)) this.#knownBefore = [];
    if (expected !== undefined) {
      const copy = copyMadeElsewhere(this.#known, deployment);
      const left = leftByHand([...this.#known, ...copy], expected, activeRevisionId, now());
      this.#byHand = [...copy, ...left];
    }
    return deployment;
  }

  async #claim({ deploymentId, activeRevisionId }: DeploymentSnapshot): Promise<string | Ending> {
    const { request, knownIn, owns } = this.#input;
    const known = this.#known;
    const serving = {
      servingRevisionId: activeRevisionId,
      servingVerified: isVerified(known, activeRevisionId),
    };
    const { from } = request;
    if (from !== undefined && activeRevisionId !== null && !isSameRevision(known, from, activeRevisionId)) {
      const serves = revisionText(wordsOf({ known, history: [] }, activeRevisionId));
      const reason = `revision ${from} does not serve any more; ${serves} does`;
      return { outcome: 'rolled_back', reason, deploymentId, ...serving };
    }
    try {
      await whileRestoring(this.#journal, () =>
        claimDeployment(this.#journal, this.#settings.current, deploymentId, owns),
      );
    } catch (error) {
      const { code, message } = explain(error);
      return { outcome: 'failed', code, reason: `nothing was changed: ${message}`, ...serving };
    }
    // With `from`, the target chose it when it was asked. It may have been quarantined since, or the deployment made again.
    const isOver =
      from !== undefined && (isAnother(deploymentId, knownIn) || isQuarantined(this.#known, request.to));
    const to = (isOver ? undefined : request.to) ?? previousVerified(this.#known, activeRevisionId);
    if (to !== undefined) return to;
    const reason = whyNone(this.#known, activeRevisionId);
    return { outcome: 'failed', code: 'SLIPWAY_NOTHING_TO_RESTORE', reason, deploymentId, ...serving };
  }

  async #restore({ deploymentId, activeRevisionId }: DeploymentSnapshot, to: string): Promise<Ending> {
    const known = this.#known;
    const leaving = activeRevisionId === null ? [] : withCopies(known, activeRevisionId);
    const quarantined = (): readonly string[] => this.#quarantined ?? [];
    const restored = await restore(this.#journal, {
      settings: this.#settings,
      deploymentId,
      recordStore: this.#input.lastRequest.recordStore,
      to,
      named: namedRevision(this.#input.request),
      manual: true,
      baseline: null,
      known,
      passed: [],
      found: [],
      // A person may quarantine another one during the restore.
      get avoid() {
        return [...leaving, ...quarantined()];
      },
      shippedPath: null,
    });
    const { knownRevisions } = restored;
    const news = [...known, ...knownRevisions];
    if (!restored.ok) {
      const { code, reason, attempted } = restored;
      const serving = (await readActive(this.#journal, this.#settings.current, deploymentId)) ?? null;
      return {
        outcome: 'rollback_failed',
        reason,
        code,
        deploymentId,
        servingRevisionId: serving,
        servingVerified: isVerified(news, serving),
        knownRevisions,
        stuck: { code, attempted, known: [...news, ...this.#leftBehind(news, activeRevisionId, to)] },
      };
    }
    const { failed, revisionId, verified, agentUrl, givenUpRevisionIds, copyRevisionIds } = restored;
    const missed = missedText(this.#journal, this.#input.request, news, revisionId);
    return {
      outcome: failed === null ? 'rolled_back' : 'errored',
      reason: `${missed}${failed?.reason ?? servesAgain(restored, news)}`,
      code: failed?.code ?? (missed === '' ? null : 'SLIPWAY_REVISION_NOT_REACHED'),
      stuck: failed === null ? undefined : { code: failed.code, attempted: [], restored: revisionId },
      settingsWorked: (failed === null && this.#settings.areNewest) || undefined,
      deploymentId,
      servingRevisionId: revisionId,
      servingVerified: verified,
      givenUpRevisionIds,
      copyRevisionIds,
      knownRevisions: [...this.#leftBehind(news, activeRevisionId, revisionId), ...knownRevisions],
      agentUrl,
    };
  }

  /** Marks the revision that a person rolled back from, and its copies: they are not restored automatically any longer. */
  #leftBehind(
    known: readonly KnownRevision[],
    left: string | null,
    restored: string,
  ): readonly KnownRevision[] {
    if (left === null || isCounter(this.#input.request) || isSameRevision(known, left, restored)) return [];
    return leaveRevision(known, left, now()).filter(({ revisionId }) =>
      isSameRevision(known, revisionId, left),
    );
  }

  #finish({ stuck, ...ending }: Ending): Promise<ReleaseResult> {
    const { lastRequest, request } = this.#input;
    const { deploymentId = null, knownRevisions = [] } = ending;
    const known = [...this.#known, ...knownRevisions];
    const situation = { target: this.#settings.current, deploymentId, baseline: null, known };
    const conclusion = {
      ...emptyConclusion(lastRequest.target.name, this.#proof.recorded(request)),
      instructions: instructionsAfter(situation, ending, stuck),
      ...ending,
      knownRevisions: [...this.#byHand, ...knownRevisions],
    };
    return conclude(this.#journal, conclusion, lastRequest.recordStore);
  }
}

/** Refuses interventions in a running rollback: updates with its phase as the reason; signals are recorded. */
function refuseInterventions(journal: Journal): void {
  const moment = (): string =>
    journal.progress.outcome === null
      ? 'a rollback is never stopped or held up halfway'
      : 'the rollback has ended';
  for (const kind of INTERVENTION_KINDS) {
    const refuseIt = (_message: InterventionMessage): never => refuse(moment(), 'SLIPWAY_WRONG_MOMENT');
    setHandler(INTERVENTION_UPDATES[kind], refuseIt, { validator: refuseIt });
    setHandler(INTERVENTION_SIGNALS[kind], (message) => {
      const id = uuid4();
      const said = readInterventionMessage(message, kind, 'signal', id);
      const record =
        typeof said === 'string'
          ? { id, kind, by: { who: 'unknown', from: 'signal' }, note: said }
          : { ...said, note: moment() };
      journal.intervention({ ...record, at: now(), taken: false });
    });
  }
}

/** Why there is no revision to restore, and what a person can do. */
function whyNone(known: readonly KnownRevision[], leaving: string | null): string {
  const barred = barredBefore(known, leaving);
  if (barred === undefined) return 'no earlier verified revision is known; name one to go back to';
  const which = revisionText(wordsOf({ known, history: [] }, barred));
  return `${which} was verified, but a person rolled back from it or it is in quarantine, so it is restored only by name: --to ${barred}`;
}
