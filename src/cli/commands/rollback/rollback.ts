import { randomUUID } from 'node:crypto';

import { type ArtifactStore, readTargetRecord } from '../../../artifact/artifactStore.ts';
import { loadConfig } from '../../../config/loadConfig.ts';
import { pageLink, targetAddress } from '../../../domain/dashboard/addresses.ts';
import { isAnother } from '../../../domain/deployment/revision.ts';
import { onSlipwayError, SlipwayError } from '../../../domain/errors.ts';
import type { KnownRevision, ReleaseResult } from '../../../domain/release/release.ts';
import { type FinalAnswer, isFinal } from '../../../domain/target/targetState.ts';
import { readWhatServes } from '../../../inspection/deployment/deploymentAccess.ts';
import { neverReleased } from '../../../temporal/client/ask.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import { queryTarget, rollBack, type RollbackTaken } from '../../../temporal/client/target/targetClient.ts';
import { describeSpan } from '../../../traces/trace.ts';
import { followInCi } from '../../ci/followInCi.ts';
import { reportInCi } from '../../ci/reportInCi.ts';
import type { CommandContext, MessageOptions } from '../../context.ts';
import { UNFOLLOWED } from '../../follow/followToEnd.ts';
import { commandProver } from '../../identity.ts';
import { interruptible } from '../../interruption.ts';
import { openTemporal } from '../../openTemporal.ts';
import { readRequester } from '../../provenance.ts';
import type { Session } from '../../session.ts';
import { answerEnding, endedOf, onPageLines, outcomeWords } from '../../ui/endingText.ts';
import { askTarget } from '../target/forgottenTarget.ts';
import { onHoldText } from '../target/localHold.ts';
import { type ChosenTarget, chooseTargetSpec } from '../target/targetAccess.ts';
import { breakGlass } from './breakGlass.ts';

interface RollbackOptions extends MessageOptions {
  /** A revision, the beginning of its id, or a release. Default: the newest verified revision of an earlier release. */
  readonly to?: string;
  readonly breakGlass?: boolean;
  readonly wait: boolean;
  readonly timeout: number;
}

/**
 * `slipway rollback [TARGET]`: restores an earlier verified revision, ahead of all running and queued releases, and
 * puts the target on hold. `--break-glass` does it without Temporal.
 */
export async function runRollbackCommand(
  context: CommandContext,
  wanted: string | undefined,
  options: RollbackOptions,
): Promise<number> {
  const file = await loadConfig(options.config);
  const chosen = await chooseTargetSpec(context, file, wanted);
  const { name, spec, settings, workflowId, openStore } = chosen;
  const requestedBy = await readRequester(context, file.folder, options.reason);
  return interruptible(async (signal) => {
    if (options.breakGlass === true) {
      const recorded = (deploymentId: string) => recordedRevisions(openStore(), chosen, deploymentId);
      const { to, wait, timeout: timeoutMs } = options;
      const order = { target: spec, to, requestedBy, recorded, wait, timeoutMs };
      return breakGlass(context, order, signal);
    }
    const requestId = randomUUID();
    const statement = { action: 'rollback', workflowId, requestId } as const;
    const [temporal, serving, identity] = await Promise.all([
      connectOrSayHow(context, name),
      options.to === undefined ? readWhatServes(context, spec) : undefined,
      commandProver(context, settings.approval, openStore)?.(statement),
    ]);
    try {
      signal.throwIfAborted();
      const message = { ...requestedBy, to: options.to, serving, requestId, identity };
      const taken = await askTarget(temporal, chosen, () => rollBack(temporal, workflowId, message)).catch(
        onSlipwayError(async (rejected) => {
          // A target that was only held or given a quarantine runs, but has nothing to restore.
          const view = await queryTarget(temporal, workflowId);
          throw view?.state.spec === null ? neverReleased(workflowId) : rejected;
        }, 'SLIPWAY_USAGE'),
      );
      return await reportRollback({ ...context, temporal, signal }, chosen, taken, options);
    } finally {
      await temporal.close();
    }
  }, context.output);
}

/** Reports a rollback that was requested and, with `--wait`, its progress and its end. @returns the exit code. */
async function reportRollback(
  session: Session,
  { name, spec, workflowId }: ChosenTarget,
  taken: RollbackTaken,
  { wait, timeout: timeoutMs }: RollbackOptions,
): Promise<number> {
  const { output, temporal } = session;
  const { requestId, disposition, reason, via, onHold } = taken;
  const dashboardUrl = pageLink(temporal.settings.dashboard, targetAddress(workflowId));
  describeSpan({ 'slipway.target': name, 'slipway.request': requestId, 'slipway.disposition': disposition });
  output.event({ event: 'submitted', ...taken, target: name, dashboardUrl });
  if (isFinal(taken)) return printAnswer(session, name, taken);
  const onPage = onPageLines(dashboardUrl);
  const print = wait ? output.info : output.print;
  for (const line of [answerText(session, name, taken), ...onPage]) print(line);
  if (via === 'signal')
    output.warn(`if no worker returns: slipway rollback ${name} --break-glass, without Temporal`);
  if (!wait) {
    const title = `rollback of ${name}: ${disposition}`;
    await reportInCi(session, { exitCode: 0, title, why: [reason, ...onPage], outputs: {} });
    return 0;
  }
  const followed = { id: requestId, asked: 'rollback', targetName: name, spec, workflowId } as const;
  const { exitCode, ending, answer } = await followInCi(session, { ...followed, timeoutMs });
  if (answer !== undefined) return printAnswer(session, name, answer);
  // A rollback that found nothing to restore ends its own hold.
  const ended = ending && endedOf(ending);
  const foundNothing = ended?.kind === 'rollback' && ended.outcome === 'failed';
  const isHoldKnown = onHold !== null || ending !== undefined;
  if (isHoldKnown && !foundNothing) printHold(session, name, onHold !== false);
  return exitCode;
}

function answerText(
  { output }: CommandContext,
  name: string,
  answer: Pick<RollbackTaken, 'disposition' | 'reason'>,
): string {
  return `rollback of ${output.style.strong(name)}: ${answer.disposition}, ${answer.reason}`;
}

async function printAnswer(context: CommandContext, name: string, answer: FinalAnswer): Promise<number> {
  const { reason, onHold } = answer;
  const { exitCode, outcome } = answerEnding(answer);
  context.output.print(answerText(context, name, answer));
  context.output.event({ event: 'ended', releaseId: null, reason, ...UNFOLLOWED, outcome, exitCode });
  printHold(context, name, onHold === true);
  const title = `rollback of ${name}: ${outcomeWords(outcome)}`;
  await reportInCi(context, { exitCode, title, why: [reason], outputs: { outcome } });
  return exitCode;
}

function printHold({ output }: CommandContext, name: string, onHold: boolean): void {
  output.print(
    onHold
      ? onHoldText(name)
      : `"${name}" is not on hold; to reject releases: slipway hold ${name} --reason "…"`,
  );
}

function connectOrSayHow(context: CommandContext, target: string): Promise<TemporalConnection> {
  const hint = `without Temporal: slipway rollback ${target} --break-glass --reason "…"`;
  return openTemporal(context).catch(
    onSlipwayError((cause) => {
      throw new SlipwayError(cause.code, cause.message, { place: cause.place, hint, cause });
    }, 'SLIPWAY_TEMPORAL_UNREACHABLE'),
  );
}

/** How many of its newest records to look for, and how many to read at once. */
const RECORDS_READ = 50;

/**
 * The revisions of a target's deployment in its release records, oldest first: the revision that served before a
 * release comes before the release's own. The records do not depend on Temporal or its retention. Records of another
 * deployment, which the target had before or which another target of that name has, do not count. A revision whose
 * release did not succeed counts as not verified. The target's stored state has the quarantines. What is damaged is left
 * out: it must not prevent the rollback.
 */
export async function recordedRevisions(
  store: ArtifactStore,
  { name: target, workflowId }: Pick<ChosenTarget, 'name' | 'workflowId'>,
  deploymentId: string,
): Promise<readonly KnownRevision[]> {
  const kept = await readTargetRecord(store, workflowId).catch(noneIfDamaged);
  const known = isAnother(deploymentId, kept?.state.owns) ? [] : (kept?.state.known ?? []);
  const recorded = new Map(known.map((revision) => [revision.revisionId, revision]));
  // Record names begin with the release's start time.
  const names = await store.listRecords(`${target}/`);
  const records: Partial<ReleaseResult>[] = [];
  for (let end = names.length; end > 0 && records.length < RECORDS_READ; end -= RECORDS_READ) {
    const page = names.slice(Math.max(end - RECORDS_READ, 0), end);
    const read = await Promise.all(page.map((name) => store.getRecord(name).catch(noneIfDamaged)));
    const own = read.filter(
      (record) => (record as Partial<ReleaseResult> | undefined)?.deploymentId === deploymentId,
    );
    records.unshift(...(own as Partial<ReleaseResult>[]));
  }
  for (const record of records) {
    const { baseline, kind, revisionId, outcome, releaseId, endedAt: at = '' } = record;
    if (baseline?.revisionId != null && !recorded.has(baseline.revisionId)) {
      recorded.set(baseline.revisionId, { revisionId: baseline.revisionId, verified: baseline.verified, at });
    }
    for (const found of record.knownRevisions ?? []) recorded.set(found.revisionId, found);
    if (kind === 'release' && revisionId != null && outcome !== 'released') {
      recorded.set(revisionId, { revisionId, verified: false, release: releaseId, at });
    }
  }
  for (const newest of known) recorded.set(newest.revisionId, newest);
  return [...recorded.values()];
}

const noneIfDamaged = onSlipwayError(() => undefined, 'SLIPWAY_RECORD_UNREADABLE');
