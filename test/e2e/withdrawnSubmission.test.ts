import { join } from 'node:path';

import { beforeAll, expect, it } from 'vitest';

import { connectTemporal } from '../../src/temporal/client/connection.ts';
import { temporalSettings } from '../../src/temporal/client/temporalSettings.ts';
import { requireWorker } from '../../src/temporal/client/workerPresence.ts';
import { Observer } from './observer.ts';
import { Project } from './project.ts';
import { eventually } from './stack.ts';
import { useAuditedStack } from './useStack.ts';

const DEPLOYMENT = 'withdrawn';
const READS_WITHIN_MS = 60_000;

const stack = useAuditedStack();
let project: Project;
let seen: Observer;

beforeAll(async () => {
  project = await Project.create(stack, { example: { says: 'Hello Ada' }, deployment: DEPLOYMENT });
  seen = new Observer(stack, DEPLOYMENT);
  // Wait until Temporal knows the worker on all its queues; a worker stopped earlier would count as none.
  const temporal = await connectTemporal(await temporalSettings(join(stack.folder, 'home'), stack.env));
  await requireWorker(temporal).finally(() => temporal.close());
});

it.each([
  ['a new target', 0],
  ['a target that has released before', 1],
])(
  'a release that ended with 6 while the worker was stopped is not made when the worker continues: %s',
  async (_of, shipped) => {
    await project.touch(`again ${shipped}`);
    const { child } = stack.worker;
    process.kill(-child.pid!, 'SIGSTOP');
    try {
      const { code, text } = await project.ran('release', 'staging');
      expect(code, text).toBe(6);
      expect(text).toContain('SLIPWAY_NO_WORKER');
      expect(text).toContain('the release was withdrawn');
    } finally {
      process.kill(-child.pid!, 'SIGCONT');
    }
    // The submission may arrive before its withdrawal, after it, or never: Temporal keeps signals, but not updates.
    await eventually(async () => {
      const { state, running } = await seen.target();
      expect(running).toBeNull();
      expect(state.submissions.at(-1)).toMatchObject({ withdrawnBy: {} });
    }, READS_WITHIN_MS);
    expect(await seen.shippedRevisions().catch(() => [])).toHaveLength(shipped);

    const again = await project.ran('release', 'staging');
    expect(again.code, again.text).toBe(0);
    expect(await seen.shippedRevisions()).toHaveLength(shipped + 1);
  },
);
