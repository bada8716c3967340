import { createServer } from 'node:http';

import { describe, expect, it } from 'vitest';

import { guardEndedSignal, preemptGuardSignal } from '../../../src/messages/target.ts';
import { closeServer, listen } from '../../support/listen.ts';
import type { Process } from '../processes.ts';
import { eventually, Stack } from '../stack.ts';
import { Ground } from './ground.ts';
import { kill } from './victims.ts';

/** A moment at which a guard or its target is stopped until the test lets it continue. */
interface Held {
  readonly met: Promise<void>;
  readonly goOn: () => void;
}

/** The metric of the guards. */
async function startMetric() {
  const metric = {
    value: 0,
    asked: (): Promise<void> => Promise.resolve(),
    url: '',
    close: () => closeServer(server),
  };
  const server = createServer((_, response) => {
    void metric.asked().then(() => response.end(JSON.stringify({ value: metric.value })));
  });
  metric.url = await listen(server);
  return metric;
}

/** Holds the first of what `place` is asked, and lets the others through. */
function holdFirst(place: (ask: (isMeant: boolean) => Promise<void> | undefined) => void): Held {
  let goOn = (): void => undefined;
  const until = new Promise<void>((resolve) => (goOn = resolve));
  let isMet = false;
  const met = new Promise<void>((resolve) => {
    place((isMeant) => {
      if (isMet || !isMeant) return undefined;
      isMet = true;
      resolve();
      return until;
    });
  });
  return { met, goOn };
}

/** The worker has decided to send a signal, and Temporal does not know it yet. */
function decided({ gate }: Stack, signal: { readonly name: string }): Held {
  return holdFirst((ask) => {
    gate.rule = ({ call, way, bytes }) =>
      ask(way === 'request' && call === 'RespondWorkflowTaskCompleted' && bytes.includes(signal.name));
  });
}

describe.each(['worker', 'temporal'] as const)('while the %s is killed', (victim) => {
  it('a guard makes way, begins again, measures, reports, and rolls back once', async () => {
    const stack = await Stack.start({}, { gated: true });
    const metric = await startMetric();
    const ground = await Ground.create(stack, 'guarded', {
      target: { guard: { for: '1h', every: '1s' } },
      metrics: { errors: { http: { url: metric.url }, max: 0.05 } },
    });
    const again = (): Process => ground.project.run('release', 'staging', '--json');
    const killedAt = async ({ met, goOn }: Held, command: Process): Promise<void> => {
      await met;
      const startAgain = await kill(victim, { stack, ground, asking: { command, again } });
      goOn();
      await startAgain();
    };
    try {
      await ground.makeReady();
      const { serving } = ground;
      await ground.nextVersion('good');
      expect(await again().exited).toBe(0);

      await ground.nextVersion('bad');
      const preempts = decided(stack, preemptGuardSignal);
      const bad = again();
      await killedAt(preempts, bad);
      expect(await bad.exited, bad.stdout).toBe(2);

      const measures = holdFirst((ask) => (metric.asked = () => ask(true) ?? Promise.resolve()));
      await killedAt(measures, bad);
      const reports = decided(stack, guardEndedSignal);
      metric.value = 1;
      await killedAt(reports, bad);

      const { state } = await eventually(async () => {
        const view = await ground.seen.target();
        if (view.running !== null || view.state.hold === null) throw new Error('no rollback has ended');
        return view;
      });
      expect(state.guard?.ended?.verdict).toBe('worse');
      expect(state.history.map(({ kind }) => kind)).toEqual(['release', 'release', 'release', 'rollback']);
      expect(await ground.seen.ask('Hello, I am Ada')).toContain(serving?.says);
      expect(await stack.audit()).toEqual([]);
    } finally {
      await metric.close();
      await stack.stop();
    }
  }, 600_000);
});
