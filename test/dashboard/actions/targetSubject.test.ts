import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { targetSubject } from '../../../src/dashboard/actions/targetSubject.ts';
import { unreadTarget } from '../../../src/dashboard/live/targetWatch.ts';
import type { PageContext } from '../../../src/dashboard/pageContext.ts';
import {
  DEPLOYMENT_ID,
  deploymentAnswer,
  OTHER_REVISION_ID,
  REVISION_ID,
  targetOn,
} from '../../activities/activitiesUnderTest.ts';
import { answers, startService } from '../../clients/faultyService.ts';
import { runs, seasoned } from '../../domain/target/targets.ts';
import { answeringTemporal, grpcError } from '../../temporal/client/answeringTemporal.ts';

it.each([
  ['sends what serves now, not what the page last showed', 200, { serving: OTHER_REVISION_ID }],
  ['lets the worker read what serves if it cannot be read from here', 503, {}],
])('a rollback from a running release %s', async (_what, status, carried) => {
  const plane = await startService(
    answers(status, deploymentAnswer({ active_revision_id: OTHER_REVISION_ID })),
  );
  const spec = targetOn(plane.url, { apiKey: { from: 'env:KEY' }, deploymentId: DEPLOYMENT_ID });
  const view = { state: seasoned({ spec, activeRevisionId: REVISION_ID }), running: runs('release-2') };
  const target = { query: () => Promise.resolve(view), describe: () => Promise.resolve(RUNNING) };
  const temporal = answeringTemporal({ workflow: { getHandle: () => target } });
  const earlier = { deploymentId: DEPLOYMENT_ID, activeRevisionId: REVISION_ID, latestRevisionId: null };
  const snapshot = { ...unreadTarget({ workflowId: 'target:x', name: 'x' }), view, deployment: earlier };
  const context = {
    temporal,
    home: join(tmpdir(), 'slipway-no-such-home'),
    environment: { KEY: 'the-key' },
    watches: { snapshot: () => Promise.resolve(snapshot) },
  } as unknown as PageContext;
  const subject = await targetSubject(context, 'target:x', 'rollback');
  expect(subject?.order.carried).toEqual(carried);
});

it('without Temporal, the form’s page shows the command that rolls back without it', async () => {
  const away = () => Promise.reject(grpcError('UNAVAILABLE'));
  const temporal = answeringTemporal({ workflow: { getHandle: () => ({ query: away, describe: away }) } });
  const snapshot = unreadTarget({ workflowId: 'target:x', name: 'production' });
  const watches = { snapshot: () => Promise.resolve(snapshot) };
  const context = { temporal, watches } as unknown as PageContext;
  await expect(targetSubject(context, 'target:x', 'rollback')).rejects.toMatchObject({
    code: 'SLIPWAY_TEMPORAL_UNREACHABLE',
    hint: expect.stringContaining('slipway rollback production --break-glass') as string,
  });
});

const RUNNING = { status: { name: 'RUNNING' } };
