import { randomUUID } from 'node:crypto';

import { type Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';

import { type PromotionSchedule, scheduleTimes } from '../../../src/domain/schedule/schedule.ts';
import { createClient } from '../../../src/temporal/client/connection.ts';

/** The times that `slipway plan promotion` prints must equal the server's own next times of the schedule. */

let connection: Connection;
let client: Client;
beforeAll(async () => {
  connection = await Connection.connect({ address: inject('temporalAddress') });
  client = createClient(connection);
});
afterAll(() => connection.close());

type Times = Pick<PromotionSchedule, 'cron' | 'everyMs' | 'timeZone'>;

/** The server's next times for a schedule that never starts anything. */
async function nextTimes({ cron, everyMs, timeZone }: Times): Promise<readonly number[]> {
  const handle = await client.schedule.create({
    scheduleId: `times-${randomUUID()}`,
    spec: {
      ...(cron === undefined ? {} : { cronExpressions: [cron] }),
      ...(everyMs === undefined ? {} : { intervals: [{ every: everyMs }] }),
      timezone: timeZone,
    },
    action: { type: 'startWorkflow', workflowType: 'nothing', taskQueue: 'nobody', args: [] },
    state: { paused: true },
  });
  try {
    return (await handle.describe()).info.nextActionTimes.map((time) => time.getTime());
  } finally {
    await handle.delete();
  }
}

it.concurrent.each<[string, Times]>([
  ['weekdays in a time zone', { cron: '0 10 * * 1-5', timeZone: 'Europe/Berlin' }],
  ['names, as a range', { cron: '30 9 * jan-dec mon-FRI', timeZone: 'America/New_York' }],
  ['names, as a list', { cron: '0 0 * * SUN,wed', timeZone: 'UTC' }],
  ['Sunday as 7', { cron: '15 3 * * 7', timeZone: 'Asia/Tokyo' }],
  ['a range that ends with 7', { cron: '15 3 * * 5-7', timeZone: 'UTC' }],
  ['steps', { cron: '*/17 */5 * * *', timeZone: 'UTC' }],
  ['steps from a value on', { cron: '5/20 8/6 * * *', timeZone: 'Asia/Kolkata' }],
  ['steps of a range', { cron: '10-50/15 2-20/9 * * *', timeZone: 'UTC' }],
  ['lists of ranges', { cron: '0,30 1-2,22-23 * * *', timeZone: 'Australia/Lord_Howe' }],
  ['a day of the month', { cron: '0 12 31 * *', timeZone: 'UTC' }],
  ['both days, which must both match', { cron: '0 12 1-7 * MON', timeZone: 'Europe/London' }],
  ['the 29th of February', { cron: '0 0 29 2 *', timeZone: 'UTC' }],
  ['skipped by clocks ahead of UTC', { cron: '30 2 25-31 3 *', timeZone: 'Europe/Berlin' }],
  ['skipped by clocks behind UTC', { cron: '30 2 8-14 3 *', timeZone: 'America/New_York' }],
  ['skipped by half an hour', { cron: '15 2 1-7 10 *', timeZone: 'Australia/Lord_Howe' }],
  ['shown twice ahead of UTC', { cron: '30 2 25-31 10 *', timeZone: 'Europe/Berlin' }],
  ['shown twice just ahead of UTC', { cron: '30 1 25-31 10 *', timeZone: 'Europe/London' }],
  ['shown twice behind UTC', { cron: '30 1 1-7 11 *', timeZone: 'America/New_York' }],
  ['shown twice by half an hour', { cron: '45 1 1-7 4 *', timeZone: 'Australia/Lord_Howe' }],
  ['every so often', { everyMs: 7 * 3_600_000, timeZone: 'UTC' }],
])('%s: the planned times match the server’s', async (_, schedule) => {
  const next = await nextTimes(schedule);
  expect(next.length).toBeGreaterThan(0);
  const [first = 0, last = 0] = [next[0], next.at(-1)];
  expect(scheduleTimes(schedule, first, last + 1)).toEqual(next);
});
