import type { ReleaseDifference } from '../../inspection/release/releaseDifference.ts';
import { releaseAddress } from '../../domain/dashboard/addresses.ts';
import { Fields } from './releasePage.tsx';

export function Changes({
  difference: { from, to, configuration, files },
  workflowId,
}: {
  readonly difference: ReleaseDifference;
  readonly workflowId: string;
}) {
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
        {typeof files === 'string' ? (
          <p class="quiet">{files}</p>
        ) : files.added.length + files.removed.length + files.changed.length === 0 ? (
          <p>the same</p>
        ) : (
          <ul class="diff">
            {files.added.map(({ path, sizeBytes }) => (
              <li class="added">
                <ins>{path}</ins> <span class="quiet">{`${sizeBytes} bytes`}</span>
              </li>
            ))}
            {files.removed.map(({ path }) => (
              <li class="removed">
                <del>{path}</del>
              </li>
            ))}
            {files.changed.map(({ from: one, to: other }) => (
              <li class="changed">
                {other.path}{' '}
                <span class="quiet">
                  {one.sizeBytes === other.sizeBytes
                    ? `${other.sizeBytes} bytes`
                    : `${one.sizeBytes} → ${other.sizeBytes} bytes`}
                </span>
              </li>
            ))}
          </ul>
        )}
      </section>
    </div>
  );
}
