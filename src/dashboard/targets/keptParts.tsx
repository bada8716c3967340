import { releaseAddress } from '../../domain/dashboard/addresses.ts';
import { pastOfWork, type PastRelease } from '../../domain/release/pastRelease.ts';
import type { KeptMessage, KeptTarget } from '../../temporal/history/keptTarget.ts';
import { Moment, OutcomeChip, RevisionId } from '../page/marks.tsx';

export function Kept({ kept, workflowId }: { readonly kept: KeptTarget; readonly workflowId: string }) {
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
      {releases.length === 0 ? null : (
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

export function PastRow({
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
      {at === null ? null : (
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
