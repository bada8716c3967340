import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { signature } from '../../src/clients/notify/webhook.ts';
import { Process, slipway } from './processes.ts';
import { PullRequestComments } from './pullRequestComments.ts';
import { eventually, Stack } from './stack.ts';
import { closeServer, listen, urlOf } from '../support/listen.ts';

const EXAMPLE = fileURLToPath(new URL('../../examples/team', import.meta.url));
const SECRETS = { EVALUATOR_SECRET: 'planted-evaluator', SLIPWAY_HOOK_SECRET: 'planted-hook' };

let stack: Stack;
let github: PullRequestComments;
let evaluator: Process;
let listener: Process | undefined;
let folder: string;
/** What the support desk counts: complaints for each answer. */
const support = { rate: 0.01, server: createServer() };

const run = (...args: string[]): Process =>
  slipway([...args, '--json'], {
    env: { ...stack.env, ...SECRETS, GITHUB_TOKEN: github.token },
    cwd: folder,
  });

async function ran(...args: string[]): Promise<Record<string, unknown>> {
  const command = run(...args);
  expect(await command.exited, command.stdout + command.stderr).toBe(0);
  return command.lines.at(-1) ?? {};
}

/** Changes the agent's source, as a push does. */
async function push(from: string, to: string): Promise<void> {
  const file = join(folder, 'src/timetable.mjs');
  const before = await readFile(file, 'utf8');
  expect(before).toContain(from);
  await writeFile(file, before.replace(from, to));
}

async function rollbacks(target: string): Promise<unknown[]> {
  const history = run('history', target);
  expect(await history.exited, history.stdout + history.stderr).toBe(0);
  return history.lines.filter(({ kind }) => kind === 'rollback').map(({ outcome }) => outcome);
}

async function serving(target: string): Promise<unknown> {
  const status = run('status', target);
  expect(await status.exited, status.stdout + status.stderr).toBe(0);
  return status.lines.find((line) => 'activeRevisionId' in line)?.['activeRevisionId'];
}

beforeAll(async () => {
  github = await PullRequestComments.start();
  support.server.on('request', (_, response) => response.end(JSON.stringify({ rate: support.rate })));
  await listen(support.server);
  evaluator = new Process(process.execPath, [join(EXAMPLE, 'evaluator/polite.mjs')], {
    env: { ...SECRETS, PORT: '0' },
  });
  await eventually(() => expect(evaluator.stdout).toContain('http://'));
  stack = await Stack.start({}, { env: { ...SECRETS, GITHUB_TOKEN: github.token } });
  folder = await mkdtemp(join(stack.folder, 'team-'));
  await cp(EXAMPLE, folder, { recursive: true });
  const places: readonly [string, string][] = [
    ['http://127.0.0.1:4700', stack.controlPlane],
    ['http://127.0.0.1:4710', evaluator.stdout.trim()],
    ['http://127.0.0.1:4711', urlOf(support.server)],
    ['kind: github,', `kind: github, apiUrl: '${github.apiUrl}', repository: ${github.repository},`],
    ['every: 1m', 'every: 1s'],
    ['soak: 5m', 'soak: 1s'],
  ];
  const file = join(folder, 'slipway.yaml');
  let text = await readFile(file, 'utf8');
  for (const [from, to] of places) {
    expect(text).toContain(from);
    text = text.replaceAll(from, to);
  }
  await writeFile(file, text);
});
afterAll(async () => {
  await listener?.stop();
  await evaluator.stop();
  await stack.stop();
  await closeServer(support.server);
  await github.stop();
});

describe('the agent of a team', () => {
  it('is merged: staging serves it after its checks', async () => {
    expect(await ran('release', 'staging')).toMatchObject({ event: 'ended', outcome: 'released' });
  });

  it('has a preview for a pull request, compared with staging, with one comment', async () => {
    await push("Vienna: '13:20'", "Vienna: '13:20', Graz: '14:00'");
    await ran('preview', '--pr', '7');
    await eventually(() => expect(github.of(7)).toMatch(/against what serves on staging: \*\*/), 120_000);
    expect(github.of(7)).toContain('| is kind | ✅ passed');
  });

  it('fails the preview of a bad pull request, and says which check failed', async () => {
    await push("Berlin: '10:30'", "Berlin: '10:35'");
    const bad = run('preview', '--pr', '8');
    // Nothing served before that could be restored.
    expect(await bad.exited, bad.stdout).toBe(3);
    await push("Berlin: '10:35'", "Berlin: '10:30'");
    await eventually(() => expect(github.of(8)).toContain('| asks the timetable | ❌'));
  });

  it('removes what a pull request had when it is closed', async () => {
    for (const pr of ['7', '8']) {
      expect(await ran('preview', 'down', '--pr', pr)).toMatchObject({ removed: 'deleted' });
    }
    expect(github.of(7)).toContain('**Removed.**');
  });

  it('is promoted to production at night, with the judge', async () => {
    expect(await ran('promote', 'nightly')).toMatchObject({ outcome: 'released' });
    expect(await serving('production')).toEqual(expect.any(String));
  });

  it('is rolled back by its guard if complaints rise after a release', async () => {
    const before = await serving('production');
    await push("Munich: '12:40'", "Munich: '12:40', Nuremberg: '08:00'");
    await ran('release', 'staging');
    await ran('promote', 'nightly');
    expect(await serving('production')).not.toBe(before);
    support.rate = 0.2;
    await eventually(async () => expect(await rollbacks('production')).toEqual(['rolled_back']), 120_000);
    support.rate = 0.01;
    await ran('unhold', 'production', '--reason', 'complaints are down');
  });

  it('is rolled back by an alert, once', async () => {
    listener = run('hooks', '--port', '0');
    const address = String((await listener.ready())['hooks']);
    await push("Prague: '09:15'", "Prague: '09:15', Dresden: '08:30'");
    await ran('release', 'staging');
    await ran('promote', 'nightly');
    const body = JSON.stringify({
      id: 'incident-7',
      title: 'worse answers',
      labels: { alert: 'worse-answers' },
    });
    const send = () =>
      fetch(`${address}/hooks/alerts`, {
        method: 'POST',
        headers: {
          'slipway-signature': signature(body, SECRETS.SLIPWAY_HOOK_SECRET, Math.floor(Date.now() / 1_000)),
        },
        body,
      });
    expect((await send()).status).toBe(202);
    const both = ['rolled_back', 'rolled_back'];
    await eventually(async () => expect(await rollbacks('production')).toEqual(both), 120_000);
    expect((await send()).status).toBe(200);
  });

  it('leaves no rule broken', async () => {
    expect(await stack.audit()).toEqual([]);
  });
});
