import { randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { answers, json, startService } from '../../clients/faultyService.ts';
import {
  activitiesUnderTest,
  DEPLOYMENT_PATH,
  failureOf,
  REVISION_ID,
  revisionAnswer,
  revisionOn,
  startRoutes,
} from '../activitiesUnderTest.ts';

describe('listRevisions', () => {
  it('returns the newest revisions', async () => {
    const plane = await startRoutes({
      [`GET ${DEPLOYMENT_PATH}/revisions`]: answers(200, {
        resources: [revisionAnswer('DEPLOYED')],
        offset: 1,
      }),
    });
    const { revisions } = await activitiesUnderTest().listRevisions(revisionOn(plane.url));
    expect(revisions).toMatchObject([{ revisionId: REVISION_ID, status: 'DEPLOYED' }]);
  });

  it('reads pages until it finds an earlier revision', async () => {
    const all = Array.from({ length: 130 }, () => ({ ...revisionAnswer('DEPLOYED'), id: randomUUID() }));
    const plane = await startRoutes({
      [`GET ${DEPLOYMENT_PATH}/revisions`]: (request, response) => {
        const query = new URL(request.url, 'http://control.plane').searchParams;
        const offset = Number(query.get('offset'));
        const resources = all.slice(offset, offset + Number(query.get('limit')));
        json(response, 200, { resources, offset: offset + resources.length });
      },
    });
    const list = async (since: string | null) =>
      (await activitiesUnderTest().listRevisions({ ...revisionOn(plane.url), since })).revisions?.length;
    expect(await list(all[120]!.id)).toBe(120);
    expect(await list(randomUUID())).toBe(130);
    expect(await list(null)).toBe(130);
  });

  it.each([
    ['returns one of the same second that is listed after the earlier one', [9, 9, 5], 0, [1]],
    ['returns null if the newest are not first', [5, 7, 9], 1, null],
    ['returns null if a newer one follows the earlier one', [7, 9], 0, null],
    ['returns null if the earlier one is the last of a list of the oldest first', [5, 7], 1, null],
  ])('%s', async (_what, seconds, earlier, expected) => {
    const ids: string[] = seconds.map(() => randomUUID());
    const resources = seconds.map((second, index) => ({
      ...revisionAnswer('DEPLOYED'),
      id: ids[index],
      created_at: `2026-11-21T10:00:0${second}Z`,
    }));
    const plane = await startRoutes({
      [`GET ${DEPLOYMENT_PATH}/revisions`]: answers(200, { resources, offset: 0 }),
    });
    const input = { ...revisionOn(plane.url), since: ids[earlier]! };
    const { revisions } = await activitiesUnderTest().listRevisions(input);
    expect(revisions?.map(({ revisionId }) => ids.indexOf(revisionId)) ?? null).toEqual(expected);
  });

  it('gives up on a list that is too long', async () => {
    const plane = await startRoutes({
      [`GET ${DEPLOYMENT_PATH}/revisions`]: (_, response) => {
        const resources = Array.from({ length: 100 }, () => ({
          ...revisionAnswer('DEPLOYED'),
          id: randomUUID(),
        }));
        json(response, 200, { resources, offset: 0 });
      },
    });
    const { revisions } = await activitiesUnderTest().listRevisions({
      ...revisionOn(plane.url),
      since: null,
    });
    expect(revisions).toBeNull();
  });

  it('returns null if a control plane has no such list', async () => {
    const plane = await startRoutes({});
    expect((await activitiesUnderTest().listRevisions(revisionOn(plane.url))).revisions).toBeNull();
  });

  it('fails if a control plane fails', async () => {
    const plane = await startService(answers(500, {}));
    const failure = await failureOf(activitiesUnderTest().listRevisions(revisionOn(plane.url)));
    expect(failure.type).toBe('SLIPWAY_SERVICE_ERROR');
  });
});
