import { expect, test } from 'vitest';

import { refused } from '../faults.ts';
import { describePreviews } from './describePreviews.ts';

describePreviews('the removal of a preview', ({ harness, newPreview, previews }) => {
  test('ends a push that waits for an earlier removal, if it is requested after the push', async () => {
    const { preview, world } = newPreview();
    await preview.release('a');
    const gate = world.gate('deleteDeployment');
    await preview.remove('room for another');
    await world.called('deleteDeployment');
    const pushed = preview.push('b');
    const ended = expect(pushed).rejects.toMatchObject({
      cause: { message: expect.stringContaining('was removed while the push waited') as string },
    });
    await preview.accepted(2);
    await preview.remove('closed');
    await ended;
    gate.open();
    expect(await preview.result()).toMatchObject({ removed: 'deleted' });
    expect(world.controlPlane.deployments).toEqual([]);
  });

  test('reports that a person has deleted the deployment already', async () => {
    const { preview, world } = newPreview();
    await preview.release('a');
    const [made] = world.controlPlane.deployments.splice(0);
    await preview.remove('closed');
    expect(await preview.result()).toEqual({
      removed: 'deleted',
      reason: `ada removed it: closed; the deployment ${made?.name ?? ''} was deleted already`,
    });
  });

  test.each([
    ['at another address', ':8080'],
    ['of another file', undefined],
  ])('leaves a deployment that a target %s owns, and says so', async (_, spelling) => {
    const owner = harness.newTarget();
    await owner.release('a');
    const preview = previews.of(
      spelling === undefined ? owner : harness.newTargetIn(owner.world, {}, spelling),
    );
    // The file of the preview knows that its target is one.
    const { target } = owner.request('b');
    const { last } = await preview.release(
      'b',
      spelling === undefined ? { target: { ...target, preview: true } } : {},
    );
    expect(last).toMatchObject({ outcome: 'failed' });
    await preview.remove('closed');
    const { removed, reason } = await preview.result();
    expect(removed).toBe('never_made');
    expect(reason).toContain('belongs to another target, and stays');
    expect(owner.world.count('deleteDeployment')).toBe(0);
    expect(await owner.release('c')).toMatchObject({ outcome: 'released' });
  });

  test('at its deadline makes way for a push if it cannot begin, and the push renews the deadline', async () => {
    const { preview, world } = newPreview();
    await preview.release('a');
    const down = Array.from({ length: 200 }, () => refused('SLIPWAY_UNAUTHORIZED', 403));
    world.next('deleteDeployment', ...down);
    // The same push again, with a short deadline.
    await preview.push('a', { ttlMs: 100 });
    await preview.stateOnce(({ removal }) => (removal?.attempts ?? 0) > 0);
    await preview.push('b');
    const { last, removal } = await preview.stateOnce((state) => state.last?.commit === 'commit-b');
    expect({ outcome: last?.outcome, removal }).toEqual({ outcome: 'released', removal: null });
    expect((await preview.target.view()).state.known).toHaveLength(2);
  });

  test('says that its target does not answer, and goes on once it does', async () => {
    const { preview, world } = newPreview();
    await preview.release('a');
    let answer: () => void = () => undefined;
    world.next('submitToTarget', (perform) => new Promise<void>((open) => (answer = open)).then(perform));
    const pushed = preview.push('b');
    await preview.accepted(2);
    await preview.remove('closed');
    const { removal } = await preview.stateOnce((state) => (state.removal?.problem ?? null) !== null);
    expect(removal?.problem).toContain('the target of the preview does not answer');
    answer();
    await pushed;
    expect(await preview.result()).toMatchObject({ removed: 'deleted' });
  });

  test('goes on while a push waits for it, however long its history is', async () => {
    const { preview, world } = newPreview(10);
    await preview.release('a');
    await preview.carriedOn();
    const gate = world.gate('deleteDeployment');
    await preview.remove('closed');
    await world.called('deleteDeployment');
    const pushed = preview.push('b');
    await preview.accepted(1);
    world.next('findDeployment', refused('SLIPWAY_UNAUTHORIZED', 401));
    gate.open();
    expect(await pushed).toMatchObject({ disposition: 'queued' });
  });
});
