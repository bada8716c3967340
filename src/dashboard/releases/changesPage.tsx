import { releaseAddress } from '../../domain/dashboard/addresses.ts';
import type { ReleaseDifference } from '../../inspection/release/releaseDifference.ts';
import { Fields } from './releasePage.tsx';

interface ChangesProps {
  readonly difference: ReleaseDifference;
  readonly workflowId: string;
}

export function Changes({ difference: { from, to, configuration, files }, workflowId }: ChangesProps) {
  return (
    <div class="stack">
      <h1>{`${from.past.releaseId} → ${to.past.releaseId}`}</h1>
      <p>
        <a href={releaseAddress(workflowId, to.past.releaseId)}>{`Back to ${to.past.releaseId}`}</a>
      </p>
      <section>
        <h2>Configuration</h2>
        <Fields fields={configuration} />
      </section>
      <section>
        <h2>Files</h2>
        <Files files={files} />
      </section>
    </div>
  );
}

function Files({ files }: Pick<ReleaseDifference, 'files'>) {
  if (typeof files === 'string') return <p class="quiet">{files}</p>;
  const { added, removed, changed } = files;
  if (added.length + removed.length + changed.length === 0) return <p>the same</p>;
  return (
    <ul class="diff">
      {added.map(({ path, sizeBytes }) => (
        <li class="added">
          <ins>{path}</ins> <span class="quiet">{`${sizeBytes} bytes`}</span>
        </li>
      ))}
      {removed.map(({ path }) => (
        <li class="removed">
          <del>{path}</del>
        </li>
      ))}
      {changed.map(({ from, to }) => (
        <li class="changed">
          {to.path}{' '}
          <span class="quiet">
            {`${from.sizeBytes === to.sizeBytes ? '' : `${from.sizeBytes} → `}${to.sizeBytes} bytes`}
          </span>
        </li>
      ))}
    </ul>
  );
}
