import { expect, it } from 'vitest';

import { nextWork } from '../../../src/cli/commands/watch.ts';
import { answeringTemporal, grpcError } from '../../temporal/client/answeringTemporal.ts';

it('the wait for the next release survives a restart of Temporal', async () => {
  const running = { releaseId: 'release-2', kind: 'release' };
  const answers = [grpcError('UNAVAILABLE'), { status: { name: 'RUNNING' } }];
  const temporal = answeringTemporal({
    workflow: {
      getHandle: () => ({
        describe: () => {
          const answer = answers.shift();
          return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
        },
        query: () => Promise.resolve({ running, state: { queue: [], history: [] } }),
      }),
    },
  });
  const { signal } = new AbortController();
  const next = await nextWork(temporal, 'target:x:greeter', new Set(), Date.now() + 10_000, signal);
  expect(next).toEqual({ id: 'release-2', asked: 'release' });
});
