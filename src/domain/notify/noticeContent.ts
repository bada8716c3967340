import type { Actor } from '../actor.ts';
import { describeArtifact } from '../artifact/artifact.ts';
import type { HookOrder } from '../hooks/hookEvent.ts';
import type { HookWork } from '../hooks/hookState.ts';
import { actionText, hookActor } from '../hooks/hookText.ts';
import { exactText } from '../scalars.ts';
import type { PromotionRequest, PromotionResult } from '../promotion/promotion.ts';
import type { Waiting } from '../release/release.ts';
import { type TargetSpec, targetWorkflowId } from '../target/targetSpec.ts';
import type { HistoryRow, NextWork, TargetState } from '../target/targetState.ts';
import type { NoticeContent } from './notice.ts';

/** The notices for a change of a target's state: holds, and releases that ended or never started. */
export function noticesBetween(before: TargetState, after: TargetState): readonly NoticeContent[] {
  const { spec } = after;
  if (spec === null) return [];
  return [
    ...holdNotices(spec, before, after),
    ...rowsSince(before, after).map((row) => endNotice(spec, row, after)),
  ];
}

export function startNotice(spec: TargetSpec, { kind, releaseId, request }: NextWork): NoticeContent {
  const of = aboutTarget(spec, request.requestedBy);
  if (kind === 'rollback') {
    const to = request.to === undefined ? 'the revision before' : `revision ${request.to}`;
    const reason = `${to} is being restored`;
    return { ...of, event: 'rollback_started', kind, name: releaseId, reason };
  }
  const { commit = null } = request;
  const artifact = describeArtifact(request.artifact);
  const reason = `${artifact} is being released`;
  return { ...of, event: 'release_started', kind, name: releaseId, reason, artifact, commit };
}

function aboutTarget(spec: TargetSpec, by: Actor): CommonFields {
  return about(spec.name, targetWorkflowId(spec), by);
}

type CommonFields = Omit<NoticeContent, 'event' | 'kind' | 'name' | 'reason'>;

function about(target: string, targetId: string, by: Actor): CommonFields {
  return {
    target,
    targetId,
    outcome: null,
    code: null,
    instructions: null,
    artifact: null,
    commit: null,
    revisionId: null,
    servingRevisionId: null,
    servingCommit: null,
    by,
  };
}

function holdNotices(
  spec: TargetSpec,
  { hold: held }: TargetState,
  { hold, said }: TargetState,
): readonly NoticeContent[] {
  const common = { kind: 'hold', name: null } as const;
  if (held === null && hold !== null) {
    const reason = `releases are rejected until "slipway unhold ${spec.name}"`;
    return [{ ...aboutTarget(spec, hold.by), ...common, event: 'hold_set', reason }];
  }
  if (held === null || hold !== null) return [];
  const unhold = said.at(-1);
  const by = unhold?.message === 'unhold' ? unhold.by : ITSELF;
  return [
    { ...aboutTarget(spec, by), ...common, event: 'hold_released', reason: 'releases are accepted again' },
  ];
}

/** The actor when the target itself releases the hold of a rollback that changed nothing. */
const ITSELF: Actor = { who: 'slipway', from: 'target' };

function endNotice(spec: TargetSpec, row: HistoryRow, after: TargetState): NoticeContent {
  const { releaseId, kind, outcome, reason, artifact, commit, revisionId, servingRevisionId } = row;
  const { needsPerson } = after;
  return {
    ...aboutTarget(spec, row.requestedBy),
    event: outcome,
    kind,
    name: releaseId,
    outcome,
    reason,
    code: row.code ?? null,
    instructions: needsPerson?.releaseId === releaseId ? needsPerson.instructions : null,
    artifact,
    commit,
    revisionId,
    servingRevisionId,
    servingCommit: commitOf(servingRevisionId, after),
  };
}

/** The new rows of the history. Rows are only appended, and the oldest are dropped. */
export function rowsSince({ history: before }: TargetState, { history }: TargetState): readonly HistoryRow[] {
  const newest = before.at(-1);
  return history.slice(history.findLastIndex((row) => row === newest) + 1);
}

/** The commit of a revision: that of its release, or of its original's release. */
function commitOf(revisionId: string | null, { history, known }: TargetState): string | null {
  if (revisionId === null) return null;
  const made = history.findLast((row) => row.revisionId === revisionId);
  if (made !== undefined) return made.commit;
  const artifact = known.find((revision) => revision.revisionId === revisionId)?.artifact;
  return history.findLast((row) => isOf(artifact, row))?.commit ?? null;
}

/** Whether a row is about an artifact. It contains the artifact's short name. */
function isOf(identity: string | undefined, { artifact, outcome }: HistoryRow): boolean {
  if (identity === undefined || artifact === null || outcome !== 'released') return false;
  return identity.startsWith(artifact) || identity === `image:${artifact}`;
}

/** The notice that a promotion ended; `undefined` if there was nothing to promote. */
export function promotionEndNotice(
  { name, to, requestedBy }: Pick<PromotionRequest, 'name' | 'to' | 'requestedBy'>,
  result: PromotionResult,
): NoticeContent | undefined {
  const { outcome, reason, code, artifact, commit, nothingToDo } = result;
  if (nothingToDo) return undefined;
  return {
    ...aboutTarget(to, requestedBy),
    event: outcome === 'released' ? 'promoted' : 'promotion_stopped',
    kind: 'promotion',
    name,
    outcome,
    reason,
    code,
    artifact,
    commit,
  };
}

interface Waiter extends Pick<NoticeContent, 'name' | 'artifact' | 'commit'> {
  readonly kind: 'release' | 'promotion';
  readonly target: TargetSpec;
  readonly requestedBy: Actor;
}

export function waitingNotice(
  { kind, name, target, artifact, commit, requestedBy }: Waiter,
  { until, note }: Waiting,
): NoticeContent {
  return {
    ...aboutTarget(target, requestedBy),
    event: kind === 'release' ? 'release_waiting' : 'promotion_waiting',
    kind,
    name,
    artifact,
    commit,
    reason: `${note}, until ${exactText(until)}`,
  };
}

export function hookWaitingNotice(
  hook: string,
  work: Pick<HookWork, 'event' | 'rule'>,
  { target, workflowId, do: action }: HookOrder,
  { until, note }: Pick<Waiting, 'until' | 'note'>,
): NoticeContent {
  const { id, title } = work.event;
  const what = actionText({ do: action, target });
  return {
    ...about(target, workflowId, hookActor(hook, work)),
    event: 'hook_waiting',
    kind: 'hook',
    name: id,
    reason: `${title}: to ${what}, ${note}, until ${exactText(until)}`,
    instructions: `slipway hooks approve ${id}\nslipway hooks reject ${id}`,
  };
}
