import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { beforeEach, describe, expect, it } from 'vitest';

import {
  findingLines,
  orProblem,
  runDoctorCommand,
  stuckFindings,
} from '../../../../src/cli/commands/doctor/doctor.ts';
import type { Finding } from '../../../../src/cli/events/checks.ts';
import { styleOf } from '../../../../src/cli/ui/text.ts';
import { readPayloadKeys } from '../../../../src/config/payloadKeys.ts';
import { keyMissing, PayloadCipher } from '../../../../src/temporal/codec/payloadCipher.ts';
import { json, startService } from '../../../clients/faultyService.ts';
import { useFolders } from '../../../support/temporaryFolder.ts';
import { failed, stuckTemporal } from '../../../temporal/client/stuckTemporal.ts';
import { testOutput } from '../../testOutput.ts';

const KEY = 'a-secret-key';
const folder = useFolders();
let plane: string;
beforeEach(async () => {
  ({ url: plane } = await startService(({ headers }, response) => {
    if (headers['x-api-key'] === KEY) json(response, 200, { resources: [], offset: 0 });
    else json(response, 401, { detail: 'no' });
  }));
});

async function examined(environment: Record<string, string>, yaml: string) {
  const config = join(folder(), 'slipway.yaml');
  await writeFile(config, yaml);
  const output = testOutput({ json: true });
  const exitCode = await runDoctorCommand(
    // The tests do not need Temporal: a missing profile fails at once.
    { output, home: folder(), environment: { TEMPORAL_PROFILE: 'nowhere', HOME: folder(), ...environment } },
    { config },
  );
  const of = (name: string) => output.events.find((event) => event['name'] === name);
  return { exitCode, of, events: output.events, text: JSON.stringify(output.events) };
}

function yaml(url = plane): string {
  return `targets:
  production:
    controlPlane: ${url}
    apiKey: { from: env:KEY }
    deployment: greeter
    secrets: [{ name: MODEL_KEY, from: env:MODEL_KEY }]
`;
}

describe('the doctor', () => {
  it('names a service that does not answer, and exits 6', async () => {
    const { exitCode, of } = await examined(
      // No server listens there.
      { KEY, TEMPORAL_ADDRESS: '127.0.0.1:1', TEMPORAL_PROFILE: '' },
      yaml(),
    );
    expect(exitCode).toBe(6);
    expect(of('Temporal')).toMatchObject({ event: 'finding', state: 'missing' });
    expect(of('node')).toMatchObject({ state: 'ok' });
    expect(of('target production')).toMatchObject({ state: 'ok' });
  });

  it('warns of a Python agent, which the included platform does not run', async () => {
    await writeFile(join(folder(), 'graph.json'), '{ "graphs": { "bot": "./bot.py:graph" } }');
    const { of } = await examined({ KEY }, yaml());
    expect(of('agent')).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/runs JavaScript and TypeScript agents; release it to/) as string,
      exitCode: 0,
    });
  });

  it('reads the artifact store, and reports one that cannot be read', async () => {
    const { of } = await examined({ KEY }, yaml());
    expect(of('artifact store')).toMatchObject({ state: 'ok' });
    const store = join(folder(), 'loop');
    await symlink(store, store);
    const unreadable = await examined({ KEY, SLIPWAY_ARTIFACT_STORE: store }, yaml());
    expect(unreadable.of('artifact store')).toMatchObject({
      state: 'missing',
      detail: expect.stringContaining('SLIPWAY_ARTIFACT_STORE_UNAVAILABLE') as string,
    });
    expect(unreadable.of('target production')).toMatchObject({ state: 'ok' });
  });

  it('exits 1 with the place if slipway.yaml is invalid', async () => {
    const { exitCode, of } = await examined({}, 'targets: {}\n');
    expect(exitCode).toBe(1);
    expect(of('slipway.yaml')!['detail']).toContain('slipway.yaml:1:');
  });

  it('reports a rejected key, without showing it', async () => {
    const { of, text } = await examined({ KEY: 'a-wrong-key' }, yaml());
    expect(of('target production')).toMatchObject({
      state: 'missing',
      detail: expect.stringContaining('SLIPWAY_UNAUTHORIZED') as string,
    });
    expect(text).not.toContain('a-wrong-key');
  });

  it('only warns of secrets that are not set here, because the worker may have them', async () => {
    const { of } = await examined({}, yaml());
    expect(of('target production')).toMatchObject({ state: 'warning', exitCode: 0 });
    expect(of('secret env:MODEL_KEY')).toMatchObject({ state: 'warning', exitCode: 0 });
  });
});

describe('the origins of keys', () => {
  it('are listed for each target', async () => {
    const { of } = await examined({ KEY }, `${yaml()}    agentOrigins: ['https://*.example.com']\n`);
    expect(of('keys of production')).toMatchObject({
      state: 'ok',
      detail: `env:KEY may be sent to ${plane}, every https host below example.com`,
    });
  });

  it('have a warning for a domain that a provider shares among its customers', async () => {
    const { of } = await examined({ KEY }, `${yaml()}    agentOrigins: ['https://*.vercel.app']\n`);
    expect(of('keys of production')).toMatchObject({
      state: 'warning',
      detail: expect.stringContaining('customers of vercel.app share this domain') as string,
    });
  });

  it('have a warning if no file binds secrets to origins', async () => {
    const { of } = await examined({ KEY }, yaml());
    expect(of('secret origins')).toMatchObject({
      state: 'warning',
      fix: expect.stringContaining('SLIPWAY_SECRET_ORIGINS') as string,
    });
  });

  it('list the secrets that the file forbids, and exit 1', async () => {
    const file = join(folder(), 'origins.yaml');
    await writeFile(file, `env:KEY: ['${plane}']\n`);
    const { of, exitCode } = await examined({ KEY, SLIPWAY_SECRET_ORIGINS: file }, yaml());
    expect(of('secret origins')).toMatchObject({
      state: 'missing',
      detail: `SLIPWAY_SECRET_REFUSED: the secret "env:MODEL_KEY" must not be sent to ${plane} (production: sent to ${plane})`,
      fix: expect.stringContaining('list the origin below "env:MODEL_KEY"') as string,
    });
    expect(of('target production')).toMatchObject({ state: 'ok' });
    expect(exitCode).toBe(1);
  });
});

describe('the secrets of slipway.yaml', () => {
  /** Everything else in the file that has a secret. */
  const USES = `    agentApiKey: { from: env:AGENT }
    guard: { for: 1h, metrics: [errors, kindness] }
metrics:
  errors: { max: 1, prometheus: { url: https://prometheus.example.com, query: up, token: { from: env:METRICS } } }
  kindness: { min: 0.5, feedback: { key: kind } }
  unused: { max: 1, http: { url: https://unused.example.com/, token: { from: env:UNUSED } } }
checks:
  - name: greets
    assistant: agent
    evaluators:
      - { name: polite, url: https://evaluators.example.com/polite, minScore: 0.5, secret: { from: env:EVALUATORS } }
      - { name: right, url: https://evaluators.example.com/right, minScore: 0.5, secret: { from: env:EVALUATORS } }
promotions:
  nightly:
    from: staging
    to: production
    judge:
      { inputs: i.jsonl, assistant: agent, evaluator: { name: kind, url: https://judge.example.com, secret: { from: env:JUDGE } } }
previews:
  pull-request:
    from: staging
    deployment: greeter-{pr}
    comment: { kind: gitlab, token: { from: env:GITLAB } }
hooks:
  alerts: { form: grafana, secret: { from: env:HOOK }, on: [{ name: bad, do: rollback, targets: [production] }] }
notify:
  - { name: ops, kind: slack, url: { from: env:SLACK } }
  - { name: bot, kind: webhook, url: { from: env:WEBHOOK }, secret: { from: env:SIGNS } }
  - { name: commits, kind: github_status, token: { from: env:GITHUB }, repository: a/b }
`;
  const file = (): string =>
    yaml().replace(
      'targets:',
      `targets:
  staging: { controlPlane: '${plane}', apiKey: { from: env:KEY }, deployment: staging }`,
    ) + USES;
  const VALUES = {
    ...{ KEY, AGENT: 'a', METRICS: 'm', EVALUATORS: 'e', JUDGE: 'j', GITLAB: 'g', HOOK: 'h', SIGNS: 's' },
    ...{ SLACK: 'https://slack.example.com/secret-path', WEBHOOK: 'https://bot.example.com/x', GITHUB: 'g' },
  };

  it('are listed with what they are for, and where they are sent', async () => {
    const { of, text, exitCode } = await examined(VALUES, file());
    const details = (...names: readonly string[]) =>
      names.map((name) => of(`secret env:${name}`)?.['detail']);
    expect(details('AGENT', 'METRICS', 'EVALUATORS', 'JUDGE', 'GITLAB', 'HOOK')).toEqual([
      'set; production: sent to the agent',
      'set; metric "errors": sent to https://prometheus.example.com',
      'set; evaluator "polite", evaluator "right": sent to https://evaluators.example.com',
      'set; the judge of "nightly": sent to https://judge.example.com',
      'set; the comment of "pull-request": sent to https://gitlab.com',
      'set; hook "alerts": verifies deliveries, never sent',
    ]);
    expect(details('SLACK', 'WEBHOOK', 'SIGNS', 'GITHUB', 'UNUSED', 'KEY')).toEqual([
      'set; receiver "ops": the address itself',
      'set; receiver "bot": the address itself',
      'set; receiver "bot": sent to the webhook',
      'set; receiver "commits": sent to https://api.github.com',
      undefined,
      `set; metric "kindness": sent to ${plane}`,
    ]);
    expect(text).not.toContain('secret-path');
    expect(exitCode).toBe(1);
  });

  it('have a warning that names the process that needs one which is not set', async () => {
    const { of } = await examined({ KEY }, file());
    const missing = { state: 'warning', exitCode: 0 };
    expect(of('secret env:HOOK')).toMatchObject({
      ...missing,
      fix: 'set it in the environment of slipway hooks',
    });
    expect(of('secret env:METRICS')).toMatchObject({
      ...missing,
      fix: 'set it in the environment of the worker',
    });
  });

  it('are compared with the file of origins, except those of hooks, which are sent nowhere', async () => {
    const origins = join(folder(), 'origins.yaml');
    const allowed = {
      'env:KEY': [plane],
      'env:MODEL_KEY': [plane],
      'env:METRICS': ['https://*.example.com'],
      'env:SLACK': ['https://slack.example.com'],
      'env:WEBHOOK': ['https://evil.example.com'],
      'env:JUDGE': ['https://evaluators.example.com'],
    };
    await writeFile(origins, JSON.stringify(allowed));
    const { events, exitCode } = await examined({ ...VALUES, SLIPWAY_SECRET_ORIGINS: origins }, file());
    const refused = events.filter(({ name }) => name === 'secret origins');
    expect(refused.map(({ detail }) => /"env:(\w+)"/.exec(String(detail))?.[1])).toEqual([
      'WEBHOOK',
      'WEBHOOK',
      'GITHUB',
      'AGENT',
      'EVALUATORS',
      'JUDGE',
      'GITLAB',
    ]);
    for (const finding of refused) expect(finding).toMatchObject({ state: 'missing', exitCode: 1 });
    expect(exitCode).toBe(1);
  });

  it('are listed without origins if the file of origins is unreadable, which is a finding itself', async () => {
    const environment = { ...VALUES, SLIPWAY_SECRET_ORIGINS: join(folder(), 'none.yaml') };
    const { events, of } = await examined(environment, file());
    expect(events.filter(({ name }) => name === 'secret origins')).toHaveLength(1);
    expect(of('secret env:METRICS')).toMatchObject({ state: 'ok' });
  });
});

describe('a finding', () => {
  it('names the command that fixes it', () => {
    const finding: Finding = {
      name: 'worker',
      state: 'missing',
      detail: 'none',
      fix: 'slipway worker',
      exitCode: 6,
    };
    const lines = findingLines(finding, styleOf(false)).map((line) => line.replaceAll(/ +/g, ' '));
    expect(lines).toEqual(['✖ worker none', ' → slipway worker']);
  });

  async function* reading(file: string): AsyncGenerator<Finding, void> {
    yield { name: 'read', state: 'ok', detail: await readFile(file, 'utf8'), fix: null, exitCode: 0 };
  }

  it('is also what is wrong with this machine or installation, so that the other findings follow', async () => {
    const missing = fileURLToPath(new URL('../../../../dist/missing.cjs', import.meta.url));
    expect(await found(orProblem('workflow code', reading(missing)))).toMatchObject([
      {
        name: 'workflow code',
        state: 'missing',
        detail: expect.stringMatching(/^SLIPWAY_INSTALLATION_DAMAGED: .*missing\.cjs/) as string,
        fix: expect.stringContaining('npm run build') as string,
        exitCode: 1,
      },
    ]);
  });

  it('is never an error that Slipway did not expect, which needs its stack', async () => {
    await expect(found(orProblem('workflow code', reading('\0')))).rejects.toThrow(TypeError);
  });
});

const STUCK = { attempt: 5, events: [failed('[TMPRL1100] Nondeterminism error')] };

async function found(findings: AsyncIterable<Finding>): Promise<Finding[]> {
  const all: Finding[] = [];
  for await (const finding of findings) all.push(finding);
  return all;
}

describe('the doctor, about workflows', () => {
  it('reports no workflow that workers can continue', async () => {
    const { temporal } = stuckTemporal({ 'target:a': {}, 'target:b': { attempt: 1 } });
    expect(await found(stuckFindings(temporal, false))).toMatchObject([
      { name: 'workflows', state: 'ok', exitCode: 0 },
    ]);
  });

  it('names each stuck workflow, the reason and the remedy, and exits 3', async () => {
    const { temporal, terminated } = stuckTemporal({ 'target:a': STUCK, 'target:b': {}, 'target:c': STUCK });
    const stuck = (workflowId: string): object => ({
      state: 'missing',
      detail: expect.stringMatching(
        `^SLIPWAY_WORKFLOW_STUCK: ${workflowId}: .* 5 times .*TMPRL1100`,
      ) as string,
      fix: 'end it: slipway doctor --fix',
      exitCode: 3,
    });
    expect(await found(stuckFindings(temporal, false))).toMatchObject([stuck('target:a'), stuck('target:c')]);
    expect(terminated).toEqual([]);
  });

  it('terminates with --fix only stuck runs, and starts their targets again', async () => {
    const workflows = { 'target:a': STUCK, 'target:b': {}, 'target:b/release-1': STUCK };
    const { temporal, terminated, started } = stuckTemporal(workflows);
    expect(await found(stuckFindings(temporal, true))).toMatchObject([
      { state: 'ok', detail: 'target:a: terminated and started again' },
      { state: 'ok', detail: 'target:b/release-1: terminated' },
    ]);
    const why = 'its workflow task failed again and again';
    expect(terminated).toEqual([
      ['target:a', 'run of target:a', why],
      ['target:b/release-1', 'run of target:b/release-1', why],
    ]);
    expect(started).toEqual(['target:a']);
  });

  describe('if workers lack a payload key', () => {
    const lacking = async (here: string) => {
      const keys = { SLIPWAY_PAYLOAD_KEYS: `${here}=env:KEY`, KEY: `${'A'.repeat(43)}=` };
      const unread = { metadata: { 'encryption-key-id': Buffer.from('old') } };
      const events = [failed(keyMissing(unread).message)];
      const codec = new PayloadCipher(await readPayloadKeys(keys));
      return stuckTemporal({ 'target:a': { attempt: 5, events } }, codec);
    };

    it('terminates nothing that continues once they have a key that is here', async () => {
      const { temporal, terminated } = await lacking('old');
      const fix = 'give every worker the payload key "old" in SLIPWAY_PAYLOAD_KEYS, and it continues';
      expect(await found(stuckFindings(temporal, true))).toMatchObject([{ state: 'missing', fix }]);
      expect(terminated).toEqual([]);
    });

    it('says what to do first if the key is not here either, and terminates with --fix', async () => {
      const { temporal, terminated } = await lacking('new');
      const fix = expect.stringMatching(/^give every worker .* "old" .*; if that key is lost, end it: /u);
      expect(await found(stuckFindings(temporal, false))).toMatchObject([{ state: 'missing', fix }]);
      expect(await found(stuckFindings(temporal, true))).toMatchObject([{ state: 'ok' }]);
      expect(terminated).toHaveLength(1);
    });
  });

  it('starts a target again that another person has just terminated', async () => {
    const { temporal, started } = stuckTemporal({ 'target:a': { ...STUCK, isGone: true } });
    expect(await found(stuckFindings(temporal, true))).toMatchObject([{ state: 'ok' }]);
    expect(started).toEqual(['target:a']);
  });
});
