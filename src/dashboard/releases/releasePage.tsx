import { isSameArtifact } from '../../domain/artifact/artifact.ts';
import { asText } from '../../domain/check/answer.ts';
import { changesAddress, releaseAddress, targetAddress } from '../../domain/dashboard/addresses.ts';
import { wordsOf } from '../../domain/deployment/revisionName.ts';
import { tookText } from '../../domain/duration.ts';
import type { FieldDifference } from '../../domain/release/fieldDifferences.ts';
import type { Progress, ReleaseResult } from '../../domain/release/release.ts';
import { restoredRevisions } from '../../domain/release/restored.ts';
import { EMPTY_TARGET } from '../../domain/target/targetState.ts';
import type { Viewer } from '../access/session.ts';
import { StoryActions } from '../actions/actionLinks.tsx';
import type { TargetSnapshot } from '../live/targetWatch.ts';
import {
  ArtifactName,
  Chip,
  Commit,
  Facts,
  Moment,
  OutcomeChip,
  Requester,
  RevisionId,
  TemporalLink,
  Verified,
} from '../page/marks.tsx';
import { Silence } from '../targets/targetParts.tsx';
import { Checks } from './checks.tsx';
import type { ChangedSince, ReleaseStory } from './releaseStory.ts';
import { SaidByPeople, TimeBar, Timeline } from './timeline.tsx';
import { Found, Wait } from './underWay.tsx';

interface StoryProps {
  readonly story: ReleaseStory;
  readonly viewer: Viewer;
  readonly now: number;
}

export function Story(props: StoryProps) {
  const { story, viewer, now } = props;
  const { found, snapshot, checks, answers, failedLog, changed } = story;
  const { past, result, progress, call, workflowUrl } = found;
  const record: Pick<Progress, 'steps' | 'verdicts' | 'interventions'> | null = result ?? progress;
  const timed = result === null ? progress : { ...result, waiting: null };
  return (
    <div id="story" class="stack" data-announce={`${past.releaseId}: ${past.outcome.replaceAll('_', ' ')}`}>
      <header class="title">
        <h1>{past.releaseId}</h1>
        <span>
          on <a href={targetAddress(snapshot.workflowId)}>{snapshot.name}</a>
        </span>
        <OutcomeChip outcome={past.outcome} kind={past.kind} />
      </header>
      {past.reason && <p class="lead">{past.reason}</p>}
      {result?.instructions && (
        <section class="notice bad">
          <h3>A person is needed</h3>
          <pre tabindex={0} aria-label="What to do">
            {result.instructions}
          </pre>
        </section>
      )}
      <Wait progress={progress} viewer={viewer} />
      {result === null && snapshot.silence && <Silence silence={snapshot.silence} wasRead />}
      <StoryActions found={found} targetId={snapshot.workflowId} viewer={viewer} />
      <ReleaseFacts story={story} />
      <section>
        <h2>Timeline</h2>
        {timed === null ? <p class="quiet">{NO_STEPS[found.from]}</p> : <TimeBar timed={timed} now={now} />}
        <Found call={result === null ? call : null} />
        {timed !== null && <Timeline timed={timed} now={now} />}
      </section>
      {failedLog && (
        <section>
          <h2>Log of the failed revision</h2>
          {typeof failedLog === 'string' ? (
            <p class="quiet">{`The log could not be read: ${failedLog}`}</p>
          ) : (
            <pre class="log" tabindex={0} aria-label="Log of the failed revision">
              {failedLog.join('\n')}
            </pre>
          )}
        </section>
      )}
      {result && <Restored story={story} result={result} />}
      <Checks verdicts={record?.verdicts ?? []} checks={checks} answers={answers} />
      <SaidByPeople interventions={record?.interventions ?? []} />
      {changed && <Changed changed={changed} story={story} />}
      <TemporalLink address={workflowUrl} />
    </div>
  );
}

const NO_STEPS = {
  temporal: 'No worker reports its progress.',
  record: 'Its record has no steps.',
  target: 'It never started: only its row in the target’s history is left.',
} as const;

function ReleaseFacts({ story: { found, snapshot } }: { readonly story: ReleaseStory }) {
  const { past, result, progress, request } = found;
  const { requestedBy, startedAt, endedAt, artifact, commit, servingRevisionId } = past;
  const baseline = (result ?? progress)?.baseline ?? null;
  const made = (result ?? progress)?.revisionId ?? past.revisionId;
  const ref = request !== null && 'ref' in request ? request.ref : undefined;
  return (
    <Facts
      facts={{
        Requested: <Requester by={requestedBy} />,
        Started: startedAt && (
          <>
            <Moment at={startedAt} />
            {endedAt === null ? null : `, took ${tookText({ startedAt, endedAt })}`}
          </>
        ),
        Commit: commit && (
          <>
            <Commit commit={commit} />
            {ref === undefined ? '' : ` from ${ref}`}
          </>
        ),
        Artifact: artifact && <ArtifactName artifact={artifact} />,
        'Served before': baseline && <ServedBefore baseline={baseline} snapshot={snapshot} />,
        Made: made && (
          <>
            revision <RevisionId id={made} />
          </>
        ),
        'Served at the end': servingRevisionId && (
          <>
            revision <RevisionId id={servingRevisionId} />{' '}
            {result && <Verified verified={result.servingVerified} />}
          </>
        ),
        Error: result?.code && <code>{result.code}</code>,
      }}
    />
  );
}

function ServedBefore({
  baseline: { revisionId, verified },
  snapshot,
}: {
  readonly baseline: NonNullable<Progress['baseline']>;
  readonly snapshot: TargetSnapshot;
}) {
  if (revisionId === null) return <>nothing</>;
  return (
    <>
      {wordsOf(snapshot.view?.state ?? EMPTY_TARGET, revisionId).release ?? 'revision'}{' '}
      <RevisionId id={revisionId} /> <Verified verified={verified} />
    </>
  );
}

function Restored({
  story: { snapshot },
  result,
}: {
  readonly story: ReleaseStory;
  readonly result: ReleaseResult;
}) {
  const restored = restoredRevisions(result);
  if (restored.length === 0) return null;
  const { known, history } = snapshot.view?.state ?? EMPTY_TARGET;
  const seen = { known: [...known, ...result.knownRevisions], history };
  return (
    <section>
      <h2>What was restored</h2>
      <ul class="lines">
        {restored.map(({ revisionId, done, why }) => {
          const { release, commit } = wordsOf(seen, revisionId);
          return (
            <li>
              {release && <a href={releaseAddress(snapshot.workflowId, release)}>{release}</a>} revision{' '}
              <RevisionId id={revisionId} />{' '}
              {commit && (
                <>
                  commit <Commit commit={commit} />{' '}
                </>
              )}
              {done ? <Chip tone="good">restored</Chip> : <Chip tone="warn">could not be restored</Chip>}
              <span class="quiet">{` ${why}`}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Changed({ changed, story }: { readonly changed: ChangedSince; readonly story: ReleaseStory }) {
  const { before, configuration } = changed;
  const { past } = story.found;
  const { workflowId } = story.snapshot;
  return (
    <section>
      <h2>
        {'Changed since '}
        <a href={releaseAddress(workflowId, before.past.releaseId)}>{before.past.releaseId}</a>
      </h2>
      <Facts
        facts={{
          Commit: <Change from={before.past.commit} to={past.commit} />,
          Artifact: isSameArtifact(before.past.artifact, past.artifact) ? (
            'the same'
          ) : (
            <>
              <Change from={before.past.artifact} to={past.artifact} />{' '}
              <a href={changesAddress(workflowId, past.releaseId)}>Compare files</a>
            </>
          ),
          Configuration: <Fields fields={configuration} />,
        }}
      />
    </section>
  );
}

function Change({ from, to }: { readonly from: string | null; readonly to: string | null }) {
  if (from === to) return <>the same</>;
  return (
    <>
      <ArtifactName artifact={from ?? 'none'} />
      {' → '}
      <ArtifactName artifact={to ?? 'none'} />
    </>
  );
}

export function Fields({ fields }: { readonly fields: readonly FieldDifference[] | string }) {
  if (typeof fields === 'string') return <span class="quiet">{fields}</span>;
  if (fields.length === 0) return <>the same</>;
  return (
    <ul class="diff">
      {fields.map(({ path, from, to }) => (
        <li class={from === undefined ? 'added' : to === undefined ? 'removed' : 'changed'}>
          <code>{path}</code>
          {': '}
          {from !== undefined && <del>{asText(from)}</del>}
          {from !== undefined && to !== undefined && ' → '}
          {to !== undefined && <ins>{asText(to)}</ins>}
        </li>
      ))}
    </ul>
  );
}
