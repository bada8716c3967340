import { releaseAddress } from '../../domain/dashboard/addresses.ts';
import { targetWorkflowId } from '../../domain/target/targetSpec.ts';
import type { ListedPromotion, ListedPromotions } from '../../temporal/client/promotion/promotionClient.ts';
import { PromotionActions } from '../actions/actionLinks.tsx';
import { ArtifactName, Chip, Commit, Facts, Moment, Requester, TemporalLink } from '../page/marks.tsx';
import { Checks } from '../releases/checks.tsx';
import { SaidByPeople, TimeBar, Timeline } from '../releases/timeline.tsx';
import { JudgeDetails, type JudgementShown } from './judgement.tsx';
import { Flow, promotionHeadline, type PromotionsProps } from './promotionsPage.tsx';

interface PromotionProps extends Omit<PromotionsProps, keyof ListedPromotions> {
  readonly promotion: ListedPromotion;
  /** `null`: there was no judgement, or the store does not have the report. */
  readonly judged: JudgementShown | null;
  /** The promotion's workflow in Temporal's UI. `null`: not known. */
  readonly temporalPage: string | null;
}

export function PromotionDetails(props: PromotionProps) {
  const { promotion, judged, now, temporalPage, viewer } = props;
  const { view, request, startedAt } = promotion;
  const { tone, words } = promotionHeadline(promotion, now);
  const result = view.state === 'ended' ? view.result : undefined;
  const progress = view.state === 'running' ? view.progress : undefined;
  const record = result ?? progress;
  const timed = result === undefined ? progress : { ...result, waiting: null };
  const { requestedBy } = result ?? request;
  const { commit = null, artifact = null, releaseId = null } = result ?? {};
  return (
    <div id="promotion" class="stack" data-announce={`${request.name}: ${words}`}>
      <header class="title">
        <h1>{request.name}</h1>
        <Chip tone={tone}>{words}</Chip>
      </header>
      {result && <p class="lead">{result.reason}</p>}
      <PromotionActions promotion={promotion} viewer={viewer} />
      <Flow {...props} />
      <Facts
        facts={{
          Requested: <Requester by={requestedBy} />,
          Started: startedAt && <Moment at={startedAt} />,
          Commit: commit && <Commit commit={commit} />,
          Artifact: artifact && <ArtifactName artifact={artifact} />,
          Release: releaseId && (
            <a href={releaseAddress(targetWorkflowId(request.to), releaseId)}>
              {`${releaseId} on ${request.to.name}`}
            </a>
          ),
        }}
      />
      {timed && timed.steps.length > 0 && (
        <section>
          <h2>Timeline</h2>
          <TimeBar timed={timed} now={now} />
          <Timeline timed={timed} now={now} />
        </section>
      )}
      {judged && <JudgeDetails {...judged} />}
      <Checks verdicts={record?.verdicts ?? []} checks={request.release.checks} answers={new Map()} />
      <SaidByPeople interventions={record?.interventions ?? []} />
      {request.differences.length > 0 && (
        <section>
          <h2>{`How ${request.from.name} and ${request.to.name} are configured differently`}</h2>
          <ul class="lines">
            {request.differences.map((difference) => (
              <li>{difference}</li>
            ))}
          </ul>
        </section>
      )}
      <TemporalLink address={temporalPage} />
    </div>
  );
}
