import type { RevisionInput } from '../../activities/activities.ts';
import type { Check } from '../../domain/check/check.ts';
import type { PassedChecks } from '../../domain/check/passedChecks.ts';
import { isSameRevision, originalOf, withCopies } from '../../domain/deployment/revision.ts';
import { revisionText, wordsOf } from '../../domain/deployment/revisionName.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { Baseline, KnownRevision } from '../../domain/release/release.ts';
import {
  afterFailure,
  type FailedAttempt,
  type Finding,
  isQuarantined,
  type RestoreCandidate,
  restoreCandidates,
  REVISIONS_TRIED_MAX,
  stayText,
} from '../../domain/restore/restoreDecision.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import { CheckedRevision, runCheck } from '../check/runCheck.ts';
import { bringUp } from '../deployment/bringUp.ts';
import { explain, type StepFailure } from '../failure.ts';
import { type Journal, now } from '../journal.ts';
import { activitiesOf } from '../steps.ts';
import { redeploy } from './redeploy.ts';
import type { Settings } from './settings.ts';

/** What to restore, and what is known about it. */
export interface RestoreOrder {
  readonly settings: Settings;
  readonly deploymentId: string;
  /** The record store, which keeps the checks of revisions. */
  readonly recordStore: string;
  /** The revision to try first. */
  readonly to: string | undefined;
  /** The revision that a person named: it is restored even if it is to be avoided. */
  readonly named: string | undefined;
  /** Whether a person asked for the rollback: then a revision that serves stays, even if its checks fail. */
  readonly manual: boolean;
  readonly baseline: Baseline | null;
  /** Oldest first. */
  readonly known: readonly KnownRevision[];
  /** Checks that passed during this workflow and are not stored yet. */
  readonly passed: readonly PassedChecks[];
  /** The failures found on the new revision, and on the baseline before any change. */
  readonly found: readonly Finding[];
  /** Revisions that are restored only if a person names them. May change during a restore. */
  readonly avoid: readonly string[];
  /** The upload path that the release shipped: a revision that carries it is not the result of a redeploy. */
  readonly shippedPath: string | null;
}

interface Judgement {
  readonly verified: boolean;
  /** Why its checks did not run; `null` if they did, or if it is not verified. */
  readonly unchecked: string | null;
  /** Why its checks failed although it stays, for a person to decide; `null` if they did not fail. */
  readonly failed: { readonly reason: string; readonly code: ErrorCode } | null;
}

export type Restored = {
  readonly copyRevisionIds: readonly string[];
  readonly knownRevisions: readonly KnownRevision[];
} & (
  | ({
      readonly ok: true;
      readonly revisionId: string;
      /** `null` if the agent does not answer. */
      readonly agentUrl: string | null;
      /** Revisions that were tried earlier and may still become active. */
      readonly givenUpRevisionIds: readonly string[];
    } & Judgement)
  | {
      readonly ok: false;
      /** `true` if there was no revision to restore. */
      readonly nothingToRestore: boolean;
      readonly reason: string;
      readonly code: ErrorCode;
      readonly attempted: readonly string[];
    }
);

/**
 * Restores a good revision, for automatic and manual rollbacks alike. It tries the candidates, best first, until one
 * is deployed, serves, and passes the checks that it passed when it was verified. If the same check fails everywhere,
 * the revision is not the cause and the restore stops (`domain/restore/restoreDecision.ts`). It does not throw for
 * failures of other services. It tries each candidate at most twice, and once more if a late revision replaced it.
 *
 * Run it in a non-cancellable scope.
 */
export function restore(journal: Journal, order: RestoreOrder): Promise<Restored> {
  return whileRestoring(journal, () => new Restoring(journal, order).run());
}

/** Runs the steps of a restore, which have longer deadlines. */
export async function whileRestoring<T>(journal: Journal, work: () => Promise<T>): Promise<T> {
  journal.restoring = true;
  try {
    return await work();
  } finally {
    journal.restoring = false;
  }
}

/** States that a restored revision serves. */
export function servesAgain(
  { revisionId, verified, unchecked }: Restored & { readonly ok: true },
  known: readonly KnownRevision[],
): string {
  const checks = unchecked === null ? '' : `; its checks did not run, because ${unchecked}`;
  const serves = revisionText(wordsOf({ known, history: [] }, revisionId));
  return `${serves} serves again${verified ? '' : ', unverified'}${checks}`;
}

interface Turn {
  readonly candidate: RestoreCandidate;
  /** How often it was tried, with this turn. Turns that a late revision ended do not count. */
  readonly tries: number;
}

/** A restore under way: whose turn it is, and what the attempts showed. */
class Restoring {
  readonly #journal: Journal;
  readonly #order: RestoreOrder;
  readonly #attempts: Attempt[] = [];
  /** Copies from failed attempts. Each still belongs to its original's release. */
  readonly #copies: KnownRevision[] = [];
  /** Revisions that served but failed checks that they passed earlier. */
  readonly #unverified: KnownRevision[] = [];
  readonly #findings: Finding[] = [];
  readonly #givenUp = new Set<string>();
  readonly #overtakers = new Set<string>();
  #turns: Turn[];
  #failure: { readonly reason: string; readonly code: ErrorCode };

  constructor(journal: Journal, order: RestoreOrder) {
    this.#journal = journal;
    this.#order = order;
    this.#turns = restoreCandidates(order)
      .slice(0, REVISIONS_TRIED_MAX)
      .map((candidate) => ({ candidate, tries: 1 }));
    this.#failure = { reason: noneText(order), code: 'SLIPWAY_NOTHING_TO_RESTORE' };
  }

  async run(): Promise<Restored> {
    for (let turn = this.#turns.shift(); turn !== undefined; turn = this.#turns.shift()) {
      if (this.#isAvoided(turn)) continue;
      const restored = await this.#try(turn);
      if (restored !== undefined) return restored;
    }
    const attempted = [...new Set(this.#attempts.map(({ original }) => original))];
    return {
      ok: false,
      nothingToRestore: attempted.length === 0,
      ...this.#failure,
      attempted,
      knownRevisions: [...this.#copies, ...this.#unverified],
      copyRevisionIds: this.#copyRevisionIds,
    };
  }

  /** Whether a person asked to leave it, or put it in quarantine, meanwhile. */
  #isAvoided({ candidate: { revisionId } }: Turn): boolean {
    return revisionId !== this.#order.named && this.#order.avoid.includes(revisionId);
  }

  /** Whether a restored revision is in quarantine by now, while another verified one is not. */
  #givesWay(turn: Turn): boolean {
    const isBetter = (other: Turn): boolean => other.candidate.verified && !this.#isAvoided(other);
    return this.#isAvoided(turn) && this.#turns.some(isBetter);
  }

  #giveWay({ original }: Attempt): void {
    const reason = `revision ${original} was put in quarantine while it was restored`;
    this.#failure = { reason, code: 'SLIPWAY_NOTHING_TO_RESTORE' };
    this.#journal.note({ phase: `${reason}; the next one` });
  }

  async #try(turn: Turn): Promise<Restored | undefined> {
    const attempt = new Attempt(turn.candidate.revisionId);
    this.#attempts.push(attempt);
    try {
      const judged = await restoreRevision(this.#journal, this.#order, turn.candidate, attempt);
      const word = { ...wordOn(this.#order, attempt), verified: judged.verified, at: now() };
      if (this.#givesWay(turn)) {
        this.#copies.push(word);
        this.#giveWay(attempt);
        return undefined;
      }
      return this.#serves(attempt, { ...judged, failed: null }, [...this.#unverified, word]);
    } catch (error) {
      return this.#afterFailure(turn, attempt, explain(error));
    }
  }

  /** Ends the restore if the revision stays although it failed, or else decides whose turn is next. */
  async #afterFailure(turn: Turn, attempt: Attempt, failure: StepFailure): Promise<Restored | undefined> {
    if (attempt.isCopy) this.#copies.push({ ...wordOn(this.#order, attempt), verified: false, at: now() });
    if (await this.#isOvertaken(attempt, failure)) {
      this.#turns.unshift(turn);
      return undefined;
    }
    const { candidate, tries } = turn;
    const { manual, found: before } = this.#order;
    const failed = await whatFailed(this.#journal, this.#order, attempt);
    const then = afterFailure({ attempt: failed, tries, manual, before, others: this.#findings });
    if (typeof then === 'object') {
      if (this.#givesWay(turn)) {
        this.#giveWay(attempt);
        return undefined;
      }
      const reason = stayText(then.stays, attempt.revisionId, failure.message);
      const judgement = { verified: false, unchecked: null, failed: { reason, code: failure.code } };
      return this.#serves(attempt, judgement, [wordOn(this.#order, attempt)]);
    }
    const reason = `revision ${candidate.revisionId} could not be restored: ${failure.message}`;
    this.#failure = { reason, code: failure.code };
    if (mayBecomeActive(attempt, failure)) this.#givenUp.add(attempt.revisionId);
    if (then === 'again') {
      this.#journal.note({ phase: `${reason}; one more try` });
      this.#turns.unshift({ candidate, tries: tries + 1 });
    } else if (typeof failed === 'object') this.#passOver(candidate.revisionId, failed);
    return undefined;
  }

  /** Passes over a revision's copies, too: they run the same artifact and belong to the same release. */
  #passOver(revisionId: string, finding: Finding): void {
    const { known } = this.#order;
    this.#findings.push(finding);
    this.#turns = this.#turns.filter(
      ({ candidate }) => !isSameRevision(known, candidate.revisionId, revisionId),
    );
    if (finding.failedCheck === null) return;
    for (const same of withCopies(known, revisionId))
      this.#unverified.push({ ...wordOn(this.#order, new Attempt(same)), verified: false, at: now() });
  }

  /** Whether a late revision became active in place of the restored one, for the first time. */
  async #isOvertaken({ original, overtakers }: Attempt, { code }: StepFailure): Promise<boolean> {
    const isReplaced = code === 'SLIPWAY_REVISION_REPLACED' || code === 'SLIPWAY_NOT_SERVING';
    if (!isReplaced || overtakers.length === 0) return false;
    const { settings, deploymentId } = this.#order;
    const active = await readActive(this.#journal, settings.current, deploymentId);
    if (active == null || !overtakers.includes(active) || this.#overtakers.has(active)) return false;
    this.#overtakers.add(active);
    this.#journal.note({ phase: `revision ${active} became active meanwhile: ${original} again` });
    return true;
  }

  #serves({ revisionId, checked }: Attempt, judgement: Judgement, words: readonly KnownRevision[]): Restored {
    return {
      ok: true,
      revisionId,
      agentUrl: checked?.agentUrl ?? null,
      knownRevisions: [...this.#copies, ...words],
      ...judgement,
      givenUpRevisionIds: [...this.#givenUp].filter((other) => other !== revisionId),
      copyRevisionIds: this.#copyRevisionIds,
    };
  }

  get #copyRevisionIds(): readonly string[] {
    return this.#attempts.filter(({ isCopy }) => isCopy).map(({ revisionId }) => revisionId);
  }
}

function noneText({ baseline, known }: RestoreOrder): string {
  const before = baseline?.revisionId ?? null;
  const none = 'there is no revision to go back to';
  if (before === null || !isQuarantined(known, before)) return none;
  return `${none}: revision ${before} served before, but a person rolled back from it or it is in quarantine, so it is restored only by name`;
}

/** What is known of a revision, or of a copy's original. A person who names it ends its quarantine. */
function wordOn({ known }: RestoreOrder, { original, revisionId, isCopy }: Attempt): KnownRevision {
  const { quarantined: _, ...word } = known.findLast((other) => other.revisionId === original) ?? {
    verified: false,
    at: now(),
  };
  return { ...word, revisionId, ...(isCopy ? { copyOf: originalOf(known, original) } : {}) };
}

class Attempt {
  readonly original: string;
  revisionId: string;
  stage: 'asking' | 'coming up' | 'served' = 'asking';
  /** The checks' run on it; `null` before they run. */
  checked: CheckedRevision | null = null;
  /** Late revisions that were not active when the redeploy was sent, and may still become active. */
  overtakers: readonly string[] = [];

  constructor(original: string) {
    this.original = original;
    this.revisionId = original;
  }

  get isCopy(): boolean {
    return this.revisionId !== this.original;
  }
}

/** How far a failed attempt came. An active revision whose agent does not answer is deployed but silent. */
async function whatFailed(
  journal: Journal,
  { settings, deploymentId }: RestoreOrder,
  { stage, checked, revisionId }: Attempt,
): Promise<FailedAttempt> {
  if (stage === 'asking') return 'not_taken';
  if (checked !== null) return checked.finding ?? 'not_deployed';
  const silent = await isSilent(journal, { target: settings.current, deploymentId, revisionId });
  return silent ? { failedCheck: null, silent: true } : 'not_deployed';
}

/** Whether the last step found the revision deployed and active, but its agent did not answer. */
export async function isSilent(
  journal: Journal,
  { target, deploymentId, revisionId }: RevisionInput,
): Promise<boolean> {
  const last = journal.progress.steps.at(-1);
  if (last?.step !== 'serving' || last.status !== 'failed') return false;
  return (await readActive(journal, target, deploymentId)) === revisionId;
}

/** Whether a revision that was given up on may still become active, even after another one has. */
function mayBecomeActive({ stage }: Attempt, { code, mayHaveBeenTaken }: StepFailure): boolean {
  if (stage === 'asking') return mayHaveBeenTaken;
  return stage === 'coming up' && code !== 'SLIPWAY_REVISION_FAILED';
}

/** Restores one revision. If it is unverified and no person asked for it, its checks do not run. */
async function restoreRevision(
  journal: Journal,
  order: RestoreOrder,
  candidate: RestoreCandidate,
  attempt: Attempt,
): Promise<Omit<Judgement, 'failed'>> {
  const { settings, deploymentId, to, shippedPath } = order;
  const { activeBefore, latestBefore, ...redeployed } = await settings.under((target) =>
    redeploy(journal, { target, deploymentId, shippedPath }, candidate.revisionId),
  );
  attempt.revisionId = redeployed.revisionId;
  attempt.stage = 'coming up';
  attempt.overtakers = order.avoid.filter((other) => other !== activeBefore && other !== attempt.revisionId);
  const mayBeCopied = attempt.isCopy ? undefined : latestBefore;
  const { agentUrl, revisionId } = await settings.under((target) =>
    bringUp(journal, { target, deploymentId, ...redeployed }, attempt.overtakers, mayBeCopied),
  );
  attempt.revisionId = revisionId;
  attempt.stage = 'served';
  const before = order.known.find((known) => known.revisionId === candidate.revisionId);
  const subject = { target: settings.current, deploymentId, revisionId };
  const checked = new CheckedRevision(subject, agentUrl, undefined, before?.answersWithinMs);
  attempt.checked = checked;
  if (!candidate.verified && candidate.revisionId !== to) return { verified: false, unchecked: null };
  const own = await ownChecks(journal, order, candidate.revisionId);
  if (typeof own === 'string') return { verified: candidate.verified, unchecked: own };
  for (const check of own) {
    await settings.under((target) => {
      checked.subject = { target, deploymentId, revisionId };
      return runCheck(journal, checked, check);
    });
  }
  const { skipped } = wordOn(order, attempt);
  return { verified: candidate.verified || skipped !== true, unchecked: null };
}

/** The checks that a revision passed, or why they are unknown. */
async function ownChecks(
  journal: Journal,
  { known, passed, recordStore: store }: RestoreOrder,
  revisionId: string,
): Promise<readonly Check[] | string> {
  const fresh = passed.find((other) => other.revisionId === revisionId);
  if (fresh !== undefined) return fresh.checks;
  const digest = known.findLast((other) => other.revisionId === revisionId)?.checks;
  if (digest === undefined) return 'none were kept';
  try {
    const reads = activitiesOf('record', journal.overrides, `read the checks of ${revisionId}`);
    return (await reads.readChecks({ store, digest })).checks;
  } catch (error) {
    return `they could not be read: ${explain(error).message}`;
  }
}

/** Reads the active revision for the report; `undefined` if it cannot be read. */
export async function readActive(
  journal: Journal,
  target: TargetSpec,
  deploymentId: string,
): Promise<string | null | undefined> {
  try {
    const reads = activitiesOf('find', journal.overrides, 'read what serves');
    return (await reads.readDeployment({ target, deploymentId })).deployment.activeRevisionId;
  } catch (error) {
    journal.note({ phase: `could not read what serves: ${explain(error).message}` });
    return undefined;
  }
}
