import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  type AgentUnderTest,
  startAgentUnderTest,
} from '../../../../packages/platform/test/agentServer/agentUnderTest.ts';
import { type CheckOptions, runCheckCommand } from '../../../../src/cli/commands/check/check.ts';
import { createRunApiClient } from '../../../../src/clients/runApi.ts';
import { answers, json, startService } from '../../../clients/faultyService.ts';
import { prepareHome } from '../../../support/preparedHome.ts';
import { useFolder } from '../../../support/temporaryFolder.ts';
import { testOutput } from '../../testOutput.ts';

const START_TIMEOUT_MS = 180_000;
/** On a busy machine a run of a real agent takes long. */
const TEST_TIMEOUT_MS = 120_000;

const CONFIG = `targets:
  local: { controlPlane: http://127.0.0.1:1, apiKey: { from: env:NONE }, deployment: greeter }
checks:
  - name: greets
    assistant: greeter
    input: { messages: [{ role: user, content: 'Hello, I am Ada' }] }
    expect: { contains: 'Hello, Ada!', not: { contains: stranger }, maxLatency: 60s }
    repeat: 3
    pass: 2
  - name: asks first
    assistant: greeter
    turns:
      - input: { messages: [{ role: user, content: 'Say hello to Ada, but ask me first' }] }
        expect: { status: interrupted }
      - resume: true
        expect: { contains: Ada }
`;

const OWN_THREAD = '44444444-4444-4444-8444-444444444444';

const folder = useFolder();
let agent: AgentUnderTest;

beforeAll(async () => {
  const home = join(folder, 'of the agent');
  await prepareHome(join(home, 'agent'));
  const dir = fileURLToPath(new URL('../../../../examples/greeter', import.meta.url));
  agent = await startAgentUnderTest({ dir, env: { SLIPWAY_HOME: home } });
}, START_TIMEOUT_MS);

afterAll(async () => {
  agent.child.kill('SIGKILL');
  await agent.exited;
});

async function check(
  wanted: string | undefined,
  {
    json = true,
    text = CONFIG,
    environment = {},
    ...options
  }: Partial<CheckOptions> & {
    readonly json?: boolean;
    readonly text?: string;
    readonly environment?: Readonly<Record<string, string>>;
  } = {},
) {
  const config = join(folder, 'slipway.yaml');
  await writeFile(config, text);
  const output = testOutput({ json });
  const context = { output, home: join(folder, 'home'), environment };
  const exitCode = await runCheckCommand(context, wanted, { config, concurrency: 4, ...options });
  return { exitCode, ...output, said: output.said.join('\n') };
}

describe('slipway check, with a real agent', { timeout: TEST_TIMEOUT_MS }, () => {
  it('passes with 0, also a conversation with an interrupt, of which it leaves no thread behind', async () => {
    const { exitCode, events } = await check(agent.url);
    expect(events).toHaveLength(3);
    expect(events).toContainEqual(
      expect.objectContaining({
        ...{ event: 'checked', check: 'greets', passed: true, error: null },
        repetitions: { passed: 2, made: 2, needed: 2, planned: 3 },
      }),
    );
    expect(events).toContainEqual(
      expect.objectContaining({ check: 'asks first', passed: true, reasons: [] }),
    );
    expect(events.at(-1)).toEqual({ event: 'ended', exitCode: 0 });
    expect(exitCode).toBe(0);
    const client = createRunApiClient({ baseUrl: agent.url });
    expect(await client.searchThreads({})).toEqual([]);
    await client.close();
  });

  it('prints no secret of a target, also if the agent answers with one', async () => {
    const text = CONFIG.replace('deployment: greeter', '$&, secrets: [{ name: WORD, from: env:WORD }]');
    const { exitCode, events } = await check(agent.url, { text, environment: { WORD: 'Hello, Ada!' } });
    expect(exitCode).toBe(0);
    expect(events).toContainEqual(
      expect.objectContaining({ check: 'greets', answer: '[removed] It is good to meet you.' }),
    );
  });

  it('fails with 2, says why on GitHub, and writes JUnit XML', async () => {
    const junit = join(folder, 'checks.xml');
    const summary = join(folder, 'summary.md');
    const { exitCode, said } = await check(agent.url, {
      ...{ json: false, junit, text: CONFIG.replace("contains: 'Hello, Ada!'", 'contains: Bonjour') },
      environment: { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: summary },
    });
    expect(exitCode).toBe(2);
    expect(said).toContain('0 of 2 runs passed, 2 of 3 must pass');
    expect(said).toContain('::error title=check "greets"::0 of 2 runs passed');
    expect(await readFile(junit, 'utf8')).toContain('tests="2" failures="1" errors="0"');
    expect(await readFile(summary, 'utf8')).toContain('| greets | ✖ failed |');
  });

  it('ends with 2 if the budget is spent, and asks no more', async () => {
    const { exitCode, events } = await check(agent.url, { text: `${CONFIG}checksBudget: { runs: 4 }\n` });
    expect(exitCode).toBe(0);
    expect(events).toHaveLength(3);
    const failing = CONFIG.replace('pass: 2', 'pass: 1').replace("'Hello, Ada!'", 'Bonjour');
    const spent = await check(agent.url, { text: `${failing}checksBudget: { runs: 3 }\n` });
    expect(spent.events[1]).toMatchObject({
      ...{ check: 'asks first', passed: false },
      error: { code: 'SLIPWAY_CHECKS_BUDGET_SPENT' },
    });
    expect(spent.exitCode).toBe(2);
  });

  it('counts the runs of a check that the budget ended', async () => {
    const differs = CONFIG.replace('repeat: 3', 'repeat: 9').replace("'Hello, Ada!'", 'Bonjour');
    const text = `${differs.replace('pass: 2', 'pass: 1')}checksBudget: { runs: 3 }\n`;
    const { events } = await check(agent.url, { text });
    expect(events).toMatchObject([
      { check: 'greets', error: { code: 'SLIPWAY_CHECKS_BUDGET_SPENT' } },
      { check: 'asks first', error: { code: 'SLIPWAY_CHECKS_BUDGET_SPENT' } },
      {},
    ]);
  });

  it('waits for an agent that asks to slow down, and repeats no run that it made', async () => {
    const service = await startService((_, response) => {
      if (service.requests.length === 2) response.writeHead(429, { 'retry-after': '1' }).end('later');
      else
        response.setHeader('content-type', 'text/event-stream').end(`event: values\ndata: "Hello, Ada!"\n\n`);
    });
    const { exitCode } = await check(service.url, {
      text: CONFIG.slice(0, CONFIG.indexOf('  - name: asks')),
    });
    expect(exitCode).toBe(0);
    expect(service.requests).toHaveLength(3);
  });

  it('names the thread that it could not remove, also if the agent chose its id', async () => {
    const service = await startService(({ method, url }, response) => {
      const at = '2026-11-21T10:00:00Z';
      const thread = { created_at: at, updated_at: at, metadata: {}, status: 'idle', values: null };
      if (method === 'DELETE') json(response, 500, { detail: 'it is busy' });
      else if (url === '/threads') json(response, 200, { ...thread, thread_id: OWN_THREAD });
      else response.setHeader('content-type', 'text/event-stream').end(`event: values\ndata: "Ada"\n\n`);
    });
    const { noted } = await check(service.url, { json: false });
    expect(noted).toEqual([`the thread ${OWN_THREAD} of a check could not be removed from the agent`]);
  });

  it('ends with 6 if the agent cannot be reached, which is no verdict', async () => {
    const { exitCode, events } = await check('http://127.0.0.1:1');
    expect(exitCode).toBe(6);
    expect(events[0]).toMatchObject({ passed: false, error: { code: 'SLIPWAY_UNREACHABLE' } });
  });

  it('asks nothing if the report could not be written afterwards', async () => {
    const service = await startService(answers(500, {}));
    const junit = join(folder, 'no such folder', 'checks.xml');
    await expect(check(service.url, { junit })).rejects.toMatchObject({
      code: 'SLIPWAY_USAGE',
      place: junit,
    });
    expect(service.requests).toEqual([]);
  });

  it.each([
    ['ftp://agent.test', {}, 'SLIPWAY_TARGET_UNKNOWN'],
    ['http://agent.test', { apiKey: 'the-key-itself' }, 'SLIPWAY_USAGE'],
    ['local', { apiKey: 'env:KEY' }, 'SLIPWAY_USAGE'],
    ['local', {}, 'SLIPWAY_SECRET_MISSING'],
    [undefined, { text: CONFIG.replace(/checks:[^]*/, '') }, 'SLIPWAY_USAGE'],
  ])('refuses %j with %j', async (wanted, options, code) => {
    await expect(check(wanted, options)).rejects.toMatchObject({ code });
  });
});
