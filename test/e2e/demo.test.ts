import { expect, it } from 'vitest';

import { freshFetch } from './freshFetch.ts';
import { slipway } from './processes.ts';

it('the demo ends with the dashboard, and keeps it open until it is stopped', async () => {
  const demo = slipway(['demo', '--keep', '--json']);
  try {
    const ended = await demo.line(({ event, answer }) => event === 'ended' && answer !== undefined, 200_000);
    const page = String(ended['dashboard']);
    expect(await (await freshFetch(page)).text()).toContain('<title>Targets');
    expect(await demo.stop()).toBe(0);
    await expect(freshFetch(page)).rejects.toThrow();
  } finally {
    await demo.kill();
  }
});
