import { nameAndMark } from '../../domain/actor.ts';
import { releaseAddress } from '../../domain/dashboard/addresses.ts';
import type { KnownRevision } from '../../domain/release/release.ts';
import type { HistoryRow, TargetState } from '../../domain/target/targetState.ts';
import type { ListeningHook } from '../../temporal/client/hooks/hookClient.ts';
import type { Viewer } from '../access/session.ts';
import { TargetActions } from '../actions/actionLinks.tsx';
import { Guard } from '../guard/guardView.tsx';
import { EventApprovals, Hooks } from '../hooks/hooksView.tsx';
import type { Fragments } from '../live/liveRooms.ts';
import type { TargetSnapshot } from '../live/targetWatch.ts';
import {
  ArtifactName,
  Chip,
  Commit,
  Moment,
  OutcomeChip,
  RevisionId,
  ScrollTable,
  TemporalLink,
  Verified,
} from '../page/marks.tsx';
import { Alarm, Conditions, Queue, Running, Serving } from './targetParts.tsx';
import { headlineOf, servingOf } from './targetTexts.ts';

interface TargetProps {
  readonly snapshot: TargetSnapshot;
  readonly viewer: Viewer;
  readonly now: number;
  /** The hooks of the `slipway.yaml` that the page was started with. */
  readonly hooksOfFile: readonly ListeningHook[];
  /** The target's workflow in Temporal's UI. `null`: not known. */
  readonly temporalPage: string | null;
}

export function TargetDetails(props: TargetProps) {
  return (
    <>
      {Object.values(targetFragments(props))}
      <TemporalLink address={props.temporalPage} />
    </>
  );
}

export function targetFragments(props: TargetProps): Fragments {
  const { snapshot, hooksOfFile } = props;
  const { view } = snapshot;
  return {
    now: <TargetNow {...props} />,
    hooks: <Hooks snapshot={snapshot} ofFile={hooksOfFile} />,
    past: view === undefined ? <div id="past"></div> : <TargetPast state={view.state} snapshot={snapshot} />,
  };
}

function TargetNow({ snapshot, viewer, now }: Omit<TargetProps, 'temporalPage' | 'hooksOfFile'>) {
  const { workflowId, name, view } = snapshot;
  const { tone, words } = headlineOf(snapshot, now);
  const spec = view?.state.spec ?? null;
  return (
    <div id="now" class="stack" data-announce={`${name}: ${words}`}>
      <header class="title">
        <h1>{name}</h1>
        <Chip tone={tone}>{words}</Chip>
      </header>
      {spec && <p class="place quiet">{`${spec.deployment} on ${spec.controlPlane}`}</p>}
      <h2 class="unseen">Now</h2>
      <Alarm snapshot={snapshot} />
      {view && <TargetActions workflowId={workflowId} view={view} viewer={viewer} />}
      <EventApprovals snapshot={snapshot} viewer={viewer} />
      <Running snapshot={snapshot} viewer={viewer} />
      <section>
        <h2>Serves</h2>
        <Serving snapshot={snapshot} />
      </section>
      <Guard snapshot={snapshot} />
      <Conditions snapshot={snapshot} now={now} />
      <Queue snapshot={snapshot} viewer={viewer} />
    </div>
  );
}

function TargetPast({ state, snapshot }: { readonly state: TargetState; readonly snapshot: TargetSnapshot }) {
  const serves = servingOf(snapshot);
  return (
    <div id="past" class="stack">
      <section>
        <h2>Releases and rollbacks</h2>
        {state.history.length === 0 ? (
          <p class="quiet">None has ended yet.</p>
        ) : (
          <ScrollTable
            label="Releases and rollbacks"
            headings={['Release', 'Outcome', 'Commit', 'By', 'Ended', 'Why']}
          >
            {state.history.toReversed().map((row) => (
              <ReleaseRow row={row} workflowId={snapshot.workflowId} />
            ))}
          </ScrollTable>
        )}
      </section>
      <section>
        <h2>Revisions</h2>
        <p class="quiet">
          What the target knows, newest first. A verified revision is one that a rollback can restore.
        </p>
        <ScrollTable
          label="Revisions"
          headings={['Revision', 'State', 'Release', 'Commit', 'Artifact', 'Checked']}
        >
          {state.known.toReversed().map((known) => (
            <RevisionRow known={known} isServing={known.revisionId === serves} />
          ))}
        </ScrollTable>
      </section>
      {state.said.length + state.ignored.length > 0 && <Messages state={state} />}
    </div>
  );
}

function ReleaseRow({ row, workflowId }: { readonly row: HistoryRow; readonly workflowId: string }) {
  const { releaseId, outcome, kind, commit, requestedBy, endedAt, reason } = row;
  return (
    <tr>
      <th scope="row">
        <a href={releaseAddress(workflowId, releaseId)}>{releaseId}</a>
      </th>
      <td>
        <OutcomeChip outcome={outcome} kind={kind} />
      </td>
      <td>{commit && <Commit commit={commit} />}</td>
      <td>{nameAndMark(requestedBy)}</td>
      <td>
        <Moment at={endedAt} />
      </td>
      <td class="why">{reason}</td>
    </tr>
  );
}

function Messages({ state: { said, ignored } }: { readonly state: TargetState }) {
  return (
    <section>
      <h2>Messages</h2>
      <ul class="lines">
        {said.toReversed().map(({ at, message, by, note }) => (
          <li>
            <Moment at={at} /> <strong>{message}</strong>
            {` by ${by.who}${by.reason === undefined ? '' : ` (${by.reason})`}: ${note}`}
          </li>
        ))}
        {ignored.toReversed().map(({ at, message, reason }) => (
          <li class="quiet">
            <Moment at={at} /> {`ignored ${message}: ${reason}`}
          </li>
        ))}
      </ul>
    </section>
  );
}

function RevisionRow({ known, isServing }: { readonly known: KnownRevision; readonly isServing: boolean }) {
  const { revisionId, verified, quarantined, release, commit, artifact, copyOf, at } = known;
  return (
    <tr>
      <th scope="row">
        <RevisionId id={revisionId} />
      </th>
      <td>
        {isServing && <Chip tone="good">serves</Chip>}{' '}
        {quarantined === true ? <Chip tone="warn">in quarantine</Chip> : <Verified verified={verified} />}
        {copyOf && (
          <span class="quiet">
            {' copy of '}
            <RevisionId id={copyOf} />
          </span>
        )}
      </td>
      <td class="short">{release}</td>
      <td>{commit && <Commit commit={commit} />}</td>
      <td>{artifact && <ArtifactName artifact={artifact} />}</td>
      <td>
        <Moment at={at} />
      </td>
    </tr>
  );
}
