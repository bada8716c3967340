import type { Child } from 'hono/jsx';

import { nameAndMark } from '../../domain/actor.ts';
import { releaseAddress } from '../../domain/dashboard/addresses.ts';
import { describeUndelivered } from '../../domain/notify/noticeText.ts';
import { pastOfWork, type PastRelease } from '../../domain/release/pastRelease.ts';
import { describeDrift, describeExtraRevision } from '../../domain/story.ts';
import { describeRevision } from '../../domain/target/describeRevision.ts';
import { type Hold, type TargetState, waitingRollbacks } from '../../domain/target/targetState.ts';
import type { KeptMessage, KeptTarget } from '../../temporal/history/keptTarget.ts';
import { mayRelease, type Viewer } from '../access/session.ts';
import { releaseActionAddress } from '../actions/actionAddresses.ts';
import { RunningActions } from '../actions/actionLinks.tsx';
import type { TargetSnapshot } from '../live/targetWatch.ts';
import {
  ArtifactName,
  Commit,
  Elapsed,
  Facts,
  Moment,
  OutcomeChip,
  RevisionId,
  Until,
  Verified,
} from '../page/marks.tsx';
import { Found, UnderWay, Wait } from '../releases/underWay.tsx';
import { frozenOf, servingOf } from './targetTexts.ts';

interface PartProps {
  readonly snapshot: TargetSnapshot;
  readonly viewer: Viewer;
}

export function Serving({ snapshot }: { readonly snapshot: TargetSnapshot }) {
  const { view, progress, deployment, workflowId } = snapshot;
  if (view === undefined) return null;
  const revisionId = servingOf(snapshot);
  if (revisionId === null) return <p class="serving quiet">Nothing serves.</p>;
  const { state, running } = view;
  const { release, commit, artifact, verified, at, copyOf } = describeRevision(
    state,
    running,
    progress,
    revisionId,
  );
  return (
    <div class="serving">
      <p class="what">
        {release === null ? (
          <span>a revision that Slipway did not make</span>
        ) : (
          <a href={releaseAddress(workflowId, release)}>{release}</a>
        )}
        {verified !== null && <Verified verified={verified} />}
      </p>
      <Facts
        kind="line"
        facts={{
          commit: commit && <Commit commit={commit} />,
          artifact: artifact && <ArtifactName artifact={artifact} />,
          revision: (
            <>
              <RevisionId id={revisionId} />
              {copyOf && (
                <>
                  {', a copy of '}
                  <RevisionId id={copyOf} />
                </>
              )}
            </>
          ),
          [verified === true ? 'verified' : 'checked']: at && <Moment at={at} />,
        }}
      />
      {typeof deployment === 'string' && (
        <p class="quiet small">{`As the target last knew, because the control plane was not read: ${deployment}`}</p>
      )}
    </div>
  );
}

/** What needs a person: in red, before everything else. */
export function Alarm({ snapshot: { view, workflowId } }: { readonly snapshot: TargetSnapshot }) {
  const needs = view?.state.needsPerson ?? null;
  if (needs === null) return null;
  return (
    <section class="notice bad">
      <h3>
        Needs a person since <a href={releaseAddress(workflowId, needs.releaseId)}>{needs.releaseId}</a>
      </h3>
      <p class="facts">
        <Moment at={needs.since} />
      </p>
      <pre tabindex={0} aria-label="What to do">
        {needs.instructions}
      </pre>
    </section>
  );
}

export function Running({ snapshot, viewer }: PartProps) {
  const { view, progress, call, buildLog, workflowId } = snapshot;
  const running = view?.running ?? null;
  if (running === null) return null;
  return (
    <section class="under-way">
      <h3>
        <a href={releaseAddress(workflowId, running.releaseId)}>{running.releaseId}</a>{' '}
        {progress && (
          <>
            {progress.waiting === null && <span class="phase">{progress.phase}</span>}{' '}
            <Elapsed since={progress.startedAt} />
          </>
        )}
      </h3>
      <Wait progress={progress} viewer={viewer} />
      <RunningActions snapshot={snapshot} viewer={viewer} />
      {progress === undefined ? (
        <>
          <p class="quiet">No worker has reported its progress yet.</p>
          <Found call={call} />
        </>
      ) : (
        <UnderWay progress={progress} call={call} buildLog={buildLog} />
      )}
    </section>
  );
}

export function Queue({ snapshot: { view, workflowId }, viewer }: PartProps) {
  if (view === undefined) return null;
  const { state, running } = view;
  const { queue } = state;
  const rollbacks = waitingRollbacks(state, running);
  if (queue.length + rollbacks.length === 0) return null;
  return (
    <section class="queue">
      <h3>Waits</h3>
      <ul>
        {rollbacks.map(({ to, requestedBy }) => (
          <li>{`rollback to ${to ?? 'the newest verified revision'}, by ${nameAndMark(requestedBy)}`}</li>
        ))}
        {queue.map(({ releaseId, queuedAt, request: { commit, requestedBy } }) => (
          <li>
            {releaseId}
            {commit && (
              <>
                {' '}
                <Commit commit={commit} />
              </>
            )}
            {` by ${nameAndMark(requestedBy)} `}
            <Elapsed since={queuedAt} />{' '}
            {mayRelease(viewer) && <a href={releaseActionAddress(workflowId, releaseId, 'abort')}>Abort …</a>}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Why the next release may not proceed as usual: hold, freeze, quarantine, manual changes, lost notices. */
export function Conditions({ snapshot, now }: { readonly snapshot: TargetSnapshot; readonly now: number }) {
  const { view, silence, kept, workflowId } = snapshot;
  if (view === undefined) {
    if (silence === undefined) return null;
    return (
      <>
        <Silence silence={silence} />
        {kept && <Kept kept={kept} workflowId={workflowId} />}
      </>
    );
  }
  const { hold, quarantined, drift, extras, undelivered, late, lateUploads } = view.state;
  const frozen = frozenOf(snapshot, now);
  const lost = undelivered?.at(-1);
  return (
    <>
      {silence && <Silence silence={silence} wasRead />}
      {hold && (
        <SetBy by={hold.by} since={hold.since}>
          <strong>On hold</strong>
        </SetBy>
      )}
      {frozen && (
        <p class="condition">
          <strong>{`Frozen by ${frozen.name} `}</strong>
          {frozen.then === 'refuse' ? 'Releases are rejected ' : 'Releases wait '}
          <Until at={new Date(frozen.until).toISOString()} />
        </p>
      )}
      {quarantined.map(({ artifact, by, since }) => (
        <SetBy by={by} since={since}>
          <strong>In quarantine</strong> <ArtifactName artifact={artifact} />
        </SetBy>
      ))}
      {drift && <p class="condition">{describeDrift(drift)}</p>}
      {extras.map((extra) => (
        <p class="condition">{describeExtraRevision(extra)}</p>
      ))}
      {late.map(({ revisionId, until }) => (
        <p class="condition">
          {'Watches for '}
          <RevisionId id={revisionId} />
          {', which was abandoned and may still become active, '}
          <Until at={until} />
        </p>
      ))}
      {lateUploads.map(({ releaseId, until }) => (
        <p class="condition">
          {`Watches for a late PATCH of ${releaseId} `}
          <Until at={until} />
        </p>
      ))}
      {lost && <p class="condition">{describeUndelivered(lost)}</p>}
    </>
  );
}

interface SilenceProps {
  readonly silence: NonNullable<TargetSnapshot['silence']>;
  /** Whether an earlier state is shown. */
  readonly wasRead?: boolean;
}

export function Silence({ silence: { why, hint, since }, wasRead = false }: SilenceProps) {
  return (
    <section class="notice warn">
      <h3>The target does not answer</h3>
      <p>{`${why}.${wasRead ? ' This is its last known state.' : ''}`}</p>
      <p class="facts">
        <Elapsed since={new Date(since).toISOString()} />
      </p>
      {hint && <p class="small">{hint}</p>}
    </section>
  );
}

/** A condition that a person set: what, by whom, since when and why. */
function SetBy({ by, since, children }: Pick<Hold, 'by' | 'since'> & { readonly children?: Child }) {
  return (
    <p class="condition">
      {children}
      {` by ${by.who}, `}
      <Moment at={since} />
      {by.reason === undefined ? '' : `: ${by.reason}`}
    </p>
  );
}

const PAST_SHOWN = 3;

export function Past({
  state: { history },
  workflowId,
}: {
  readonly state: TargetState;
  readonly workflowId: string;
}) {
  if (history.length === 0) return null;
  return (
    <section class="past">
      <h3>Last</h3>
      <ul>
        {history
          .slice(-PAST_SHOWN)
          .reverse()
          .map((row) => (
            <PastRow release={row} workflowId={workflowId} />
          ))}
      </ul>
    </section>
  );
}

function Kept({ kept, workflowId }: { readonly kept: KeptTarget; readonly workflowId: string }) {
  const { servingRevisionId: serves, running, ended, messages } = kept;
  const releases = [...ended, ...(running === null ? [] : [pastOfWork(running)])].reverse();
  return (
    <section class="past">
      <h3>What Temporal keeps</h3>
      <p class="serving">
        {serves === null ? (
          'What serves is not known without a worker.'
        ) : (
          <>
            {'Served when the target last did something: '}
            <RevisionId id={serves} />
          </>
        )}
      </p>
      {releases.length > 0 && (
        <ul>
          {releases.map((release) => (
            <PastRow release={release} workflowId={workflowId} />
          ))}
        </ul>
      )}
      {messages.map((message) => (
        <p class="condition">{waitingMessage(message)}</p>
      ))}
      <p class="quiet small">
        Its queue, its hold and its quarantine are known only while a worker runs: <code>slipway worker</code>
      </p>
    </section>
  );
}

function PastRow({
  release: { releaseId, outcome, kind, startedAt, endedAt },
  workflowId,
}: {
  readonly release: Pick<PastRelease, 'releaseId' | 'outcome' | 'kind' | 'endedAt'> &
    Partial<Pick<PastRelease, 'startedAt'>>;
  readonly workflowId: string;
}) {
  const at = endedAt ?? startedAt ?? null;
  return (
    <li>
      <a href={releaseAddress(workflowId, releaseId)}>{releaseId}</a>
      <OutcomeChip outcome={outcome} kind={kind} />
      {at && (
        <span class="quiet when">
          <Moment at={at} />
        </span>
      )}
    </li>
  );
}

function waitingMessage({ message, who, reason }: KeptMessage): string {
  const by = who === null ? '' : ` by ${who}`;
  return `Waits for a worker: ${message}${by}${reason === null ? '' : `: ${reason}`}`;
}
