import type { Waiting } from '../../domain/release/release.ts';
import type { Viewer } from '../access/session.ts';
import { Elapsed, Until } from '../page/times.tsx';

const TITLES: Readonly<Record<Waiting['for'], string>> = {
  approval: 'Waits for approval',
  resume: 'Paused',
  decision: 'Waits for a decision',
  freeze: 'Waits for a freeze to end',
};

export function Wait({ waiting, viewer }: { readonly waiting: Waiting; readonly viewer: Viewer }) {
  const isMine = waiting.approvers?.includes(viewer.name) === true;
  return (
    <section class={`notice ${waiting.for === 'decision' ? 'bad' : 'warn'}`}>
      <h3>
        {TITLES[waiting.for]}
        {isMine ? <span class="mine"> by you</span> : null}
      </h3>
      <p>{waiting.note}</p>
      <p class="facts">
        <Elapsed since={waiting.since} />
        <Until at={waiting.until} />
        {waiting.for === 'approval' ? (
          <span>
            {`${waiting.approvers?.join(' or ') ?? 'anyone except the person who asked for it'} may approve`}
          </span>
        ) : null}
      </p>
    </section>
  );
}
