import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { signature } from '../../src/clients/notify/webhook.ts';
import type { HookAnswer } from '../../src/domain/hooks/takeDelivery.ts';
import type { Process } from './processes.ts';
import { goodAgent, ServingDeployment } from './servingDeployment.ts';
import { eventually } from './stack.ts';
import { useStack } from './useStack.ts';

const TOKEN = 'a token that only both sides know';
const HOUR_MS = 3_600_000;
const FLOOD = 10_000;
/** A listener takes about 150 MB, whatever is sent to it. */
const LISTENER_MAX_KIB = 600_000;

const HOOKS = {
  alerts: {
    form: 'alertmanager',
    secret: { from: 'env:HOOK_TOKEN' },
    on: [
      {
        name: 'worse',
        match: { 'labels.alertname': 'AnswersWorse' },
        do: 'rollback',
        targets: ['staging'],
        ifYoungerThan: '1h',
        ifRevision: 'labels.revision',
      },
    ],
  },
  told: {
    form: 'generic',
    secret: { from: 'env:HOOK_TOKEN' },
    on: [
      { name: 'again', match: { 'labels.do': 'release' }, do: 'release', targets: ['staging'] },
      {
        name: 'many',
        match: { 'labels.do': 'flood' },
        do: 'hold',
        targets: ['staging'],
        atLeast: { count: 100, within: '1h' },
        atMostOnePer: '1h',
      },
    ],
  },
};

const stack = useStack();
let on: ServingDeployment;
let listener: Process;
let address = '';

async function listen(): Promise<void> {
  listener = on.project.run('hooks', '--json', '--port', '0');
  address = String((await listener.ready())['hooks']);
}

beforeAll(async () => {
  [on] = (await ServingDeployment.several(stack, 'told', 1, {
    hooks: HOOKS,
    env: { HOOK_TOKEN: TOKEN },
  })) as [ServingDeployment];
  await on.project.use(goodAgent(1));
  expect((await on.project.ran('release', 'staging')).code).toBe(0);
  await listen();
});
afterAll(() => listener.stop());

interface Answer {
  readonly status: number;
  readonly events: readonly HookAnswer[];
  readonly code: string | undefined;
}

async function post(hook: string, body: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const response = await fetch(`${address}/hooks/${hook}`, { method: 'POST', headers, body });
  const { events = [], error } = (await response.json()) as {
    readonly events?: readonly HookAnswer[];
    readonly error?: { readonly code: string };
  };
  return { status: response.status, events, code: error?.code };
}

function alert(
  fingerprint: string,
  startsAt: string,
  revision: string | null,
  token = TOKEN,
): Promise<Answer> {
  const labels = { alertname: 'AnswersWorse', revision };
  const annotations = { summary: 'the answers got worse' };
  const body = JSON.stringify({
    ...{
      version: '4',
      receiver: 'slipway',
      status: 'firing',
      groupLabels: {},
      externalURL: 'http://alerts.test',
    },
    alerts: [
      { status: 'firing', labels, annotations, startsAt, endsAt: '0001-01-01T00:00:00Z', fingerprint },
    ],
  });
  return post('alerts', body, { authorization: `Bearer ${token}` });
}

function tell(id: string, what: string, atSeconds = Math.floor(Date.now() / 1_000)): Promise<Answer> {
  const body = JSON.stringify({ id, labels: { do: what } });
  return post('told', body, { 'slipway-signature': signature(body, TOKEN, atSeconds) });
}

/** The rules' decisions on an event, as "slipway hooks list" has them. */
async function decisions(hook: string, id: string | undefined): Promise<HookAnswer['decisions']> {
  return eventually(async () => {
    const { process } = await on.project.ran('hooks', 'list', hook, '--json', '--last', '100');
    const row = process.lines.find((line) => line['id'] === id) as Pick<HookAnswer, 'decisions'> | undefined;
    if (row === undefined || row.decisions.some(({ state }) => state === 'waiting'))
      throw new Error(`not decided: ${process.stdout}${process.stderr}`);
    return row.decisions;
  });
}

/** The most memory that a process has ever had, in KiB. */
async function peakKib({ child }: Process): Promise<number> {
  const text = await readFile(`/proc/${child.pid ?? 0}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(text)?.[1]);
}

const rollbacks = async (): Promise<number> => {
  const { state } = await on.seen.target();
  return state.history.filter(({ kind }) => kind === 'rollback').length;
};

describe('slipway hooks', () => {
  let served: string | null;

  it('rejects forged, stale, unknown and malformed events, and controls no target', async () => {
    const now = new Date().toISOString();
    expect(await alert('a', now, null, 'another token')).toMatchObject({
      status: 401,
      code: 'SLIPWAY_HOOK_FORGED',
    });
    const old = Math.floor(Date.now() / 1_000) - 400;
    expect(await tell('old', 'release', old)).toMatchObject({ status: 401, code: 'SLIPWAY_HOOK_STALE' });
    expect(await post('other', '{}', {})).toMatchObject({ status: 404, code: 'SLIPWAY_HOOK_UNKNOWN' });
    const bearer = { authorization: `Bearer ${TOKEN}` };
    expect(await post('alerts', '{', bearer)).toMatchObject({ status: 400, code: 'SLIPWAY_HOOK_PAYLOAD' });
    expect(await rollbacks()).toBe(0);
  });

  it('shows what a stored payload would do, without doing it', async () => {
    served = await on.active();
    const file = join(stack.folder, 'payload.json');
    const labels = { alertname: 'AnswersWorse', revision: served };
    const one = {
      status: 'firing',
      labels,
      annotations: {},
      startsAt: new Date().toISOString(),
      fingerprint: 'tried',
    };
    await writeFile(file, JSON.stringify({ version: '4', alerts: [one] }));
    const { code, process, text } = await on.project.ran('hooks', 'try', 'alerts', file, '--json');
    expect(code, text).toBe(0);
    expect(process.lines).toMatchObject([
      { event: 'hook_trial', rule: 'worse', target: 'staging', outcome: 'act', note: 'every guard is met' },
    ]);
    expect(await rollbacks()).toBe(0);
  });

  it('rolls back the revision that an alert names, once, beside a duplicate and a stale alert', async () => {
    const now = new Date().toISOString();
    const long = new Date(Date.now() - HOUR_MS).toISOString();
    const answers = await Promise.all([
      alert('stale', long, served),
      alert('worse', now, served),
      alert('worse', now, served),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 202, 202]);
    const [stale, worse] = answers.map(({ events }) => events[0]?.id);
    expect(await decisions('alerts', stale)).toMatchObject([
      { state: 'not_met', note: 'the event began before release-2' },
    ]);
    expect(await decisions('alerts', worse)).toMatchObject([{ state: 'carried_out' }]);
    const { state } = await eventually(async () => {
      const view = await on.seen.target();
      if (view.running !== null || view.state.history.length < 3) throw new Error('the rollback runs');
      return view;
    });
    expect(state.history.at(-1)).toMatchObject({ kind: 'rollback', outcome: 'rolled_back' });
    expect(state.hold?.by).toMatchObject({
      who: 'hook alerts',
      reason: 'AnswersWorse: the answers got worse',
    });
    expect(await on.active()).not.toBe(served);

    await listener.kill();
    await listen();
    const again = await alert('worse', now, served);
    expect(again).toMatchObject({ status: 200, events: [{ disposition: 'duplicate' }] });
    expect(again.events[0]?.decisions).toMatchObject([{ state: 'carried_out' }]);
    expect(await rollbacks()).toBe(1);
  });

  it('executes accepted events although worker and listener are killed at the same time', async () => {
    expect((await on.project.ran('unhold', 'staging', '--reason', 'fixed')).code).toBe(0);
    await on.project.use(goodAgent(2));
    const { status, events } = await tell('prompt-1', 'release');
    await stack.worker.kill();
    await listener.kill();
    expect(status).toBe(202);
    await stack.startWorker();
    expect(await decisions('told', events[0]?.id)).toMatchObject([{ state: 'carried_out', do: 'release' }]);
    await eventually(async () => {
      const { state } = await on.seen.target();
      expect(state.history.at(-1)).toMatchObject({ outcome: 'released', requestedBy: { who: 'hook told' } });
    });
    await listen();
  });

  it('answers each of 10,000 deliveries, in bounded memory, and keeps each event once', async () => {
    let left = Array.from({ length: FLOOD }, (_, number) => `flood-${number}`);
    while (left.length > 0) {
      const refused: string[] = [];
      for (let sent = 0; sent < left.length; sent += 250) {
        const ids = left.slice(sent, sent + 250);
        const answers = await Promise.all(ids.map((id) => tell(id, 'flood')));
        answers.forEach(({ status }, index) => {
          if (status !== 202) refused.push(ids[index] ?? '');
          expect([202, 503]).toContain(status);
        });
      }
      // As products do, once they are told to try again.
      left = refused;
    }
    expect(await peakKib(listener)).toBeLessThan(LISTENER_MAX_KIB);
    await eventually(async () => {
      const { process } = await on.project.ran('hooks', 'list', 'told', '--json', '--last', '1000');
      const rows = process.lines.filter(({ event }) => event === 'hook_event');
      const past = process.lines.find(({ event }) => event === 'hook_past')?.['counts'] ?? {};
      // Beside the prompt of an earlier test.
      const earlier = Object.values(past).reduce((sum: number, count) => sum + Number(count), 0);
      expect(earlier + rows.length).toBe(FLOOD + 1);
    });
    expect((await on.seen.target()).state.hold?.by.who).toBe('hook told');
  });

  it('never prints its secret', () => {
    expect(listener.stdout + listener.stderr).not.toContain(TOKEN);
  });
});
