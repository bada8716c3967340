import { beforeAll, describe, expect, it } from 'vitest';

import { type Fault, meet, REQUESTS } from './faultProxy.ts';
import { Pool } from './pool.ts';
import { ServingDeployment, withDeployment } from './servingDeployment.ts';
import { useAuditedStack } from './useStack.ts';

const stack = useAuditedStack();
let deployments: Pool<ServingDeployment>;

beforeAll(async () => {
  deployments = new Pool(await ServingDeployment.several(stack, 'faults', 3));
});

const onDeployment = (work: Parameters<typeof withDeployment>[1]): Promise<void> =>
  withDeployment(deployments, work);

const { find, patch, poll, uploadUrl } = REQUESTS;

const GARBAGE: Fault = { kind: 'answer', status: 200, body: '<html>not what you asked for</html>' };

describe.concurrent('a control plane that fails temporarily', () => {
  it.each<[string, Fault]>([
    ['503', { kind: 'answer', status: 503 }],
    ['garbage', GARBAGE],
    ['a closed connection', { kind: 'drop' }],
  ])('and answers %s to a read is read again: the release completes', (_what, fault) =>
    onDeployment(async (on) => {
      void meet(on, (request) => find(request) || poll(request), fault, 2);
      expect((await on.project.ran('release', 'staging')).code).toBe(0);
    }),
  );

  it.each<[string, Fault]>([
    ['closes the connection before taking the PATCH', { kind: 'drop' }],
    ['closes the connection after taking the PATCH', { kind: 'lose_answer' }],
    ['answers garbage to the PATCH', GARBAGE],
  ])('and %s: the release creates exactly one revision', (_what, fault) =>
    onDeployment(async (on) => {
      const before = await on.seen.shippedRevisions();
      void meet(on, patch, fault, 1);
      expect((await on.project.ran('release', 'staging')).code).toBe(0);
      expect(await on.seen.shippedRevisions()).toHaveLength(before.length + 1);
    }),
  );
});

describe.concurrent('a control plane that rejects', () => {
  it('the PATCH: the release fails, and the previous revision serves', () =>
    onDeployment(async (on, good) => {
      void meet(on, patch, { kind: 'answer', status: 422 }, 1);
      const ended = await on.project.ran('release', 'staging');
      expect(ended.code).toBe(2);
      expect(ended.text).toContain('SLIPWAY_REFUSED');
      expect(await on.active()).toBe(good);
    }));

  it('that the deployment exists, permanently: the release fails before anything is changed', () =>
    onDeployment(async (on) => {
      void meet(on, uploadUrl, { kind: 'answer', status: 404 });
      const ended = await on.project.ran('release', 'staging');
      expect(ended.code).toBe(2);
      expect(ended.text).toContain('SLIPWAY_NOT_FOUND');
    }));
});

describe.concurrent('two releases at the same time', () => {
  it('run one after the other, and the newer one serves in the end', () =>
    onDeployment(async (on) => {
      const one = on.project.run('release', 'staging');
      await one.line((line) => JSON.stringify(line).includes('release-'));
      await on.change();
      const two = on.project.run('release', 'staging');
      expect([await one.exited, await two.exited]).toEqual([0, 0]);
      const { state } = await on.seen.target();
      const [older, newer] = state.history.slice(-2);
      expect(newer?.revisionId).toBe(await on.active());
      expect(Date.parse(newer!.endedAt)).toBeGreaterThan(Date.parse(older!.endedAt));
    }));
});
