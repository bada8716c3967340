import { promotionAddress, releaseAddress, targetAddress } from '../../domain/dashboard/addresses.ts';
import { frozenAt } from '../../domain/freeze/freeze.ts';
import type { Progress } from '../../domain/release/release.ts';
import { describeTimes } from '../../domain/schedule/schedule.ts';
import { describeRevision } from '../../domain/target/describeRevision.ts';
import { type TargetSpec, targetWorkflowId } from '../../domain/target/targetSpec.ts';
import type { ListedPromotion, ListedPromotions } from '../../temporal/client/promotion/promotionClient.ts';
import type { Viewer } from '../access/session.ts';
import type { TargetSnapshot } from '../live/targetWatch.ts';
import { Chip, Commit, Elapsed, Moment, Until, Verified } from '../page/marks.tsx';
import { inNameOrder } from '../page/nameOrder.ts';
import { StepStrip, Wait } from '../releases/underWay.tsx';
import { type Headline, headlineOf, servingOf } from '../targets/targetTexts.ts';

export interface PromotionsProps extends ListedPromotions {
  readonly snapshots: readonly TargetSnapshot[];
  readonly viewer: Viewer;
  readonly now: number;
}

export function Promotions(props: PromotionsProps) {
  const { promotions, sealed } = props;
  return (
    <div id="promotions" class="stack" data-announce={announced(props)}>
      <h1>Promotions</h1>
      {promotions.length === 0 && sealed.size === 0 && (
        <p class="empty">
          No promotion has run. <code>slipway promote</code> runs one, <code>slipway schedule apply</code>{' '}
          schedules them.
        </p>
      )}
      {inFlowOrder(promotions).map((promotion) => (
        <Flow promotion={promotion} {...props} />
      ))}
      {[...sealed].map(([workflowId, { message, hint }]) => (
        <p class="condition">
          {`${workflowId.slice(workflowId.lastIndexOf(':') + 1)}: ${message}; ${hint ?? ''}`}
        </p>
      ))}
    </div>
  );
}

function announced({ promotions, now }: PromotionsProps): string {
  return promotions
    .map((promotion) => `${promotion.request.name}: ${promotionHeadline(promotion, now).words}`)
    .join(', ');
}

interface FlowProps extends Pick<PromotionsProps, 'snapshots' | 'viewer' | 'now'> {
  readonly promotion: ListedPromotion;
}

export function Flow({ promotion, snapshots, viewer, now }: FlowProps) {
  const { workflowId, request, view, schedule } = promotion;
  const { tone, words } = promotionHeadline(promotion, now);
  const progress = view.state === 'running' ? view.progress : undefined;
  const frozen = frozenAt(request.freezes, now);
  return (
    <article class={`flow ${tone}`}>
      <Node spec={request.from} snapshots={snapshots} now={now} />
      <div class="edge">
        <header>
          <h2>
            <a href={promotionAddress(workflowId)}>{request.name}</a>
          </h2>
          <Chip tone={tone}>{words}</Chip>
        </header>
        {progress && (
          <>
            <p class="quiet">
              {progress.waiting === null ? `${progress.phase} ` : ''}
              <Elapsed since={progress.startedAt} />
            </p>
            <Wait progress={progress} viewer={viewer} />
            <StepStrip steps={progress.steps} />
            <Soak progress={progress} request={request} now={now} />
          </>
        )}
        {view.state === 'ended' && (
          <p>
            {view.result.reason}{' '}
            <span class="quiet">
              <Moment at={view.result.endedAt} />
            </span>
          </p>
        )}
        {frozen && (
          <p class="condition">
            {`Frozen by ${frozen.name} `}
            <Until at={new Date(frozen.until).toISOString()} />
          </p>
        )}
        {schedule && <Scheduled {...schedule} />}
      </div>
      <Node spec={request.to} snapshots={snapshots} now={now} />
    </article>
  );
}

function Scheduled({ schedule, paused, note, next: [next] }: NonNullable<ListedPromotion['schedule']>) {
  return (
    <p class="quiet">
      {`Scheduled ${describeTimes(schedule)}`}
      {paused && `, paused${note === null ? '' : `: ${note}`}`}
      {!paused && next && (
        <>
          {'; next '}
          <Moment at={next} />
        </>
      )}
    </p>
  );
}

function Node({
  spec,
  snapshots,
  now,
}: Pick<FlowProps, 'snapshots' | 'now'> & { readonly spec: TargetSpec }) {
  const workflowId = targetWorkflowId(spec);
  const snapshot = snapshots.find((each) => each.workflowId === workflowId);
  const revisionId = snapshot === undefined ? null : servingOf(snapshot);
  const serves =
    snapshot?.view === undefined || revisionId === null
      ? null
      : describeRevision(snapshot.view.state, snapshot.view.running, snapshot.progress, revisionId);
  return (
    <div class="node">
      <p class="name">
        {snapshot === undefined ? spec.name : <a href={targetAddress(workflowId)}>{spec.name}</a>}
      </p>
      {serves === null ? (
        <p class="quiet small">{whyNothing(snapshot, now)}</p>
      ) : (
        <p class="small">
          {serves.release === null ? (
            'a revision from elsewhere'
          ) : (
            <a href={releaseAddress(workflowId, serves.release)}>{serves.release}</a>
          )}{' '}
          {serves.commit && <Commit commit={serves.commit} />}{' '}
          {serves.verified === true && <Verified verified />}
        </p>
      )}
      {serves !== null && snapshot?.silence && (
        <p class="condition small">It does not answer: this is its last known state.</p>
      )}
    </div>
  );
}

function whyNothing(snapshot: TargetSnapshot | undefined, now: number): string {
  if (snapshot === undefined) return 'has taken no release';
  return snapshot.view === undefined ? headlineOf(snapshot, now).words : 'nothing serves';
}

function Soak({
  progress: { steps, watchUntil },
  request: { soakMs, bakeMs },
  now,
}: {
  readonly progress: Progress;
  readonly request: ListedPromotion['request'];
  readonly now: number;
}) {
  const step = steps.find(
    ({ step: name, status }) => status === 'running' && (name === 'soak' || name === 'bake'),
  );
  if (step === undefined || watchUntil === undefined) return null;
  const whole = step.step === 'soak' ? soakMs : bakeMs;
  const until = Date.parse(watchUntil);
  const value = Math.min(Math.max(whole - (until - now), 0), whole);
  return (
    <p class="soak">
      <progress
        max={whole}
        value={value}
        data-until={watchUntil}
        aria-label={step.step === 'soak' ? 'Soak' : 'Watch after the release'}
      ></progress>
      <Until at={watchUntil} />
    </p>
  );
}

/** A promotion's state in a word, and its color. `now`: milliseconds since 1970. */
export function promotionHeadline({ view, request }: ListedPromotion, now: number): Headline {
  switch (view.state) {
    case 'none':
      return { tone: 'quiet', words: 'has not run' };
    case 'stopped':
      return { tone: 'warn', words: view.status };
    case 'ended': {
      const { outcome, nothingToDo } = view.result;
      if (nothingToDo) return { tone: 'quiet', words: 'nothing to do' };
      if (outcome === 'released') return { tone: 'good', words: 'promoted' };
      const isUrgent = outcome === 'errored' || outcome === 'rollback_failed';
      return { tone: isUrgent ? 'bad' : 'warn', words: outcome.replaceAll('_', ' ') };
    }
    case 'running': {
      const { progress } = view;
      if (progress === undefined) return { tone: 'warn', words: 'does not answer' };
      const waiting = progress.waiting?.for;
      if (waiting === 'approval') return { tone: 'warn', words: 'waits for approval' };
      if (waiting === 'decision') return { tone: 'bad', words: 'waits for a decision' };
      if (waiting === 'resume') return { tone: 'warn', words: 'paused' };
      if (waiting === 'freeze' || frozenAt(request.freezes, now) !== null)
        return { tone: 'warn', words: 'frozen' };
      return { tone: 'active', words: 'under way' };
    }
  }
}

/** Promotions in the order in which artifacts pass them: a promotion comes after those that lead to its source. */
function inFlowOrder(promotions: readonly ListedPromotion[]): readonly ListedPromotion[] {
  const left = [...inNameOrder(promotions, ({ request }) => request.name)];
  const ordered: ListedPromotion[] = [];
  while (left.length > 0) {
    const next = left.findIndex(
      ({ request: { from } }) => !left.some(({ request: { to } }) => to.name === from.name),
    );
    // A cycle has no beginning: any promotion can be first.
    ordered.push(...left.splice(Math.max(next, 0), 1));
  }
  return ordered;
}
