import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { newestBuildLines } from '../../../src/inspection/deployment/revisionLog.ts';
import { DEPLOYMENT_ID, REVISION_ID, targetOn } from '../../activities/activitiesUnderTest.ts';
import { answers, startService } from '../../clients/faultyService.ts';
import { testOutput } from '../../cli/testOutput.ts';
import { runningStep, sampleProgress } from '../../cli/ui/sampleProgress.ts';

it('the newest lines of a build contain no secret of the target', async () => {
  const line = {
    id: '1',
    stage: 'build',
    message: 'TOKEN=sk-very-secret',
    timestamp: '2026-11-21T12:00:00.000Z',
  };
  const plane = await startService(answers(200, { logs: [line], next_offset: null }));
  const target = targetOn(plane.url, {
    apiKey: { from: 'env:KEY' },
    secrets: [{ name: 'TOKEN', from: 'env:TOKEN' }],
  });
  const environment = { KEY: 'the-key', TOKEN: 'sk-very-secret' };
  const context = { output: testOutput(), home: join(tmpdir(), 'slipway-no-such-home'), environment };
  const deploys = sampleProgress([runningStep({ step: 'deployed' })]);
  const waits = { ...deploys, deploymentId: DEPLOYMENT_ID, revisionId: REVISION_ID };
  expect(await newestBuildLines(context, target, waits)).toEqual(['TOKEN=[removed]']);
});
