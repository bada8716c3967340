import { describe, expect, it } from 'vitest';

import { type Service, supervise, type SupervisorEvent } from '../../../../src/cli/commands/dev/service.ts';

/** A service that ends on request. */
class Mortal implements Service {
  stopped = false;
  readonly exited: Promise<void>;
  die: () => void = () => undefined;

  constructor() {
    this.exited = new Promise((resolve) => {
      this.die = resolve;
    });
  }

  stop(): Promise<void> {
    this.stopped = true;
    this.die();
    return this.exited;
  }
}

/** A supervisor of such services, with a clock that only its waits advance. */
function rig(options: { failing?: (start: number) => boolean } = {}) {
  const started: Mortal[] = [];
  const events: SupervisorEvent[] = [];
  const waits: number[] = [];
  let starts = 0;
  let time = 0;
  let wake: () => void = () => undefined;
  const changed = (): Promise<void> => new Promise((resolve) => (wake = resolve));
  return {
    started,
    events,
    waits,
    pass: (ms: number) => (time += ms),
    nextStart: async (count: number): Promise<Mortal> => {
      while (started.length < count) await changed();
      return started[count - 1]!;
    },
    run: () =>
      supervise({
        name: 'it',
        now: () => time,
        wait: (ms) => {
          waits.push(ms);
          time += ms;
          return Promise.resolve();
        },
        onEvent: (event) => events.push(event),
        start: () => {
          starts += 1;
          if (options.failing?.(starts) === true) return Promise.reject(new Error(`start ${starts}`));
          const mortal = new Mortal();
          started.push(mortal);
          wake();
          return Promise.resolve(mortal);
        },
      }),
  };
}

describe('a supervised service', () => {
  it('is restarted when it dies, with growing pauses', async () => {
    const { run, nextStart, waits, events } = rig();
    const supervised = await run();
    for (let count = 1; count <= 3; count++) (await nextStart(count)).die();
    await nextStart(4);
    expect(waits).toEqual([500, 1_000, 2_000]);
    expect(events[0]).toEqual({ what: 'died', name: 'it', restartInMs: 500 });
    await supervised.stop();
  });

  it('is restarted immediately if it ran well for a while', async () => {
    const { run, nextStart, waits, pass } = rig();
    const supervised = await run();
    (await nextStart(1)).die();
    (await nextStart(2)).die();
    const third = await nextStart(3);
    pass(60_000);
    third.die();
    await nextStart(4);
    expect(waits).toEqual([500, 1_000, 500]);
    await supervised.stop();
  });

  it('is retried if it does not start', async () => {
    const { run, nextStart, events } = rig({ failing: (start) => start === 2 });
    const supervised = await run();
    (await nextStart(1)).die();
    await nextStart(2);
    await supervised.stop();
    expect(events.map(({ what }) => what)).toEqual(['died', 'not_restarted', 'restarted']);
  });

  it('fails if it does not start the first time', async () => {
    await expect(rig({ failing: () => true }).run()).rejects.toThrow('start 1');
  });

  it('is not restarted after it is stopped', async () => {
    const { run, started } = rig();
    const supervised = await run();
    await supervised.stop();
    expect(started).toHaveLength(1);
    expect(started[0]!.stopped).toBe(true);
  });
});
