import { expect, it } from 'vitest';

import { triggerSchedule } from '../../../../src/temporal/client/schedule/schedules.ts';
import { answeringTemporal } from '../answeringTemporal.ts';

it('a promotion that is triggered while Temporal does not answer may still start, and the error says so', async () => {
  const away = Object.assign(new Error('14 UNAVAILABLE'), { code: 14, details: '', metadata: {} });
  const temporal = answeringTemporal({ workflow: { start: () => Promise.reject(away) } });
  const existing = { scheduleId: 's' } as Parameters<typeof triggerSchedule>[1];
  await expect(triggerSchedule(temporal, existing, { who: 'bo', from: 'test' })).rejects.toMatchObject({
    code: 'SLIPWAY_TEMPORAL_UNREACHABLE',
    message: expect.stringContaining('may still start') as string,
  });
});
