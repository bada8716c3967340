import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { readEvents } from '../../src/hooks/forms.ts';
import { signature } from '../../src/clients/notify/webhook.ts';
import { hookOf, ListenerUnderTest, NOW, SECRET, signed } from './hookRequests.ts';

const SECONDS = NOW / 1_000;
const BEARER = { authorization: `Bearer ${SECRET}` };
const BASIC = { authorization: `Basic ${Buffer.from(`anybody:${SECRET}`).toString('base64')}` };

const ALERTS = JSON.stringify({
  version: '4',
  receiver: 'slipway',
  status: 'firing',
  alerts: [
    {
      status: 'firing',
      labels: { alertname: 'AnswersWorse', target: 'production' },
      annotations: { summary: 'score below 0.7' },
      startsAt: '2026-01-01T11:59:00.123456789Z',
      endsAt: '0001-01-01T00:00:00Z',
      fingerprint: 'abc',
    },
    { status: 'resolved', labels: {}, annotations: {}, startsAt: '2026-01-01T11:00:00Z', fingerprint: 'def' },
  ],
});
const WORKFLOW_RUN = JSON.stringify({
  action: 'completed',
  workflow_run: {
    name: 'evals',
    conclusion: 'failure',
    head_branch: 'main',
    created_at: '2026-01-01T10:00:00Z',
    run_started_at: '2026-01-01T11:00:00Z',
  },
  repository: { full_name: 'acme/agent' },
});
const LANGSMITH_ALERT = JSON.stringify({
  project_name: 'greeter',
  alert_rule_id: '5a3e9c1e-0000-4000-8000-000000000000',
  alert_rule_name: 'low score',
  alert_rule_type: 'threshold',
  alert_rule_attribute: 'feedback_score',
  triggered_metric_value: 0.41,
  triggered_threshold: 0.7,
  timestamp: '2026-01-01T11:58:00Z',
});
const PROMPT = JSON.stringify({
  prompt_id: 'c0ffee00-0000-4000-8000-000000000000',
  prompt_name: 'greeting',
  commit_hash: '0123456789abcdef',
  created_at: '2026-01-01T11:58:00Z',
  created_by: 'ada',
  manifest: { lc: 1 },
});
const GENERIC = JSON.stringify({ id: 'incident-7', title: 'cost', labels: { target: 'production' } });

const grafana = (hmac: string) => ({ 'x-grafana-alerting-signature': hmac });
const at = (time: number) => ({ 'x-grafana-alerting-timestamp': String(time) });
const github = (hmac: string) => ({ 'x-hub-signature-256': `sha256=${hmac}` });
const generic = (signature: string) => ({ 'slipway-signature': signature });

describe('a product’s event is accepted with its own signature:', () => {
  const RIGHT: readonly [string, string, string, Readonly<Record<string, string>>][] = [
    ['alertmanager', 'a token', ALERTS, BEARER],
    ['alertmanager', 'a password', ALERTS, BASIC],
    ['alertmanager', 'a token, with the scheme in capitals', ALERTS, { authorization: `BEARER  ${SECRET}` }],
    ['grafana', 'a signature', ALERTS, grafana(signed(ALERTS))],
    [
      'grafana',
      'a signature with a time',
      ALERTS,
      { ...grafana(signed(`${SECONDS}:${ALERTS}`)), ...at(SECONDS) },
    ],
    ['grafana', 'a password', ALERTS, BASIC],
    [
      'github',
      'a signature',
      WORKFLOW_RUN,
      { ...github(signed(WORKFLOW_RUN)), 'x-github-event': 'workflow_run' },
    ],
    ['langsmith', 'a token', LANGSMITH_ALERT, BEARER],
    ['langsmith', 'a token', PROMPT, BEARER],
    ['generic', 'a signature', GENERIC, generic(signature(GENERIC, SECRET, SECONDS))],
  ];
  it.each(RIGHT)('%s, %s', async (form, _, body, headers) => {
    const listener = new ListenerUnderTest(hookOf(form));
    const { status, events } = await listener.post(body, headers);
    expect(status).toBe(202);
    expect(events?.[0]).toMatchObject({ disposition: 'taken' });
  });
});

it('a prompt’s tag that returns to an earlier commit is a new event, and another delivery of that is not', async () => {
  const listener = new ListenerUnderTest(hookOf('langsmith'));
  const move = async (commit: string) => {
    const body = { ...(JSON.parse(PROMPT) as object), event: 'tag:update', tag_name: 'production' };
    const { events } = await listener.post(JSON.stringify({ ...body, commit_hash: commit }), BEARER);
    return events?.[0]?.disposition;
  };
  const moves = ['a', 'a', 'b', 'a', 'a', 'b', 'a'];
  const became: unknown[] = [];
  for (const commit of moves) became.push(await move(commit));
  expect(became).toEqual(['taken', 'duplicate', 'taken', 'taken', 'duplicate', 'taken', 'taken']);
});

describe('is rejected with 401, and has no effect:', () => {
  const old = SECONDS - 301;
  const ahead = SECONDS + 301;
  const WRONG: readonly [string, string, Readonly<Record<string, string>>, 'FORGED' | 'STALE'][] = [
    ['alertmanager', 'no token', {}, 'FORGED'],
    ['alertmanager', 'another token', { authorization: 'Bearer wrong' }, 'FORGED'],
    ['alertmanager', 'an empty token', { authorization: 'Bearer' }, 'FORGED'],
    ['langsmith', 'another password', { authorization: 'Basic d3Jvbmc=' }, 'FORGED'],
    ['grafana', 'the signature of another body', grafana(signed('{}')), 'FORGED'],
    ['grafana', 'a signature whose time was taken away', grafana(signed(`${SECONDS}:${GENERIC}`)), 'FORGED'],
    ['grafana', 'an old signature', { ...grafana(signed(`${old}:${GENERIC}`)), ...at(old) }, 'STALE'],
    ['github', 'no signature', {}, 'FORGED'],
    ['github', 'a signature with another key', github(signed(GENERIC, 'wrong')), 'FORGED'],
    ['generic', 'no signature', {}, 'FORGED'],
    ['generic', 'an old signature', generic(signature(GENERIC, SECRET, old)), 'STALE'],
    ['generic', 'a signature from the future', generic(signature(GENERIC, SECRET, ahead)), 'STALE'],
    [
      'generic',
      'an old signature under a new time',
      generic(signature(GENERIC, SECRET, old).replace(`t=${old}`, `t=${SECONDS}`)),
      'FORGED',
    ],
  ];
  it.each(WRONG)('%s, %s', async (form, _, headers, code) => {
    const listener = new ListenerUnderTest(hookOf(form));
    const answer = await listener.post(GENERIC, headers);
    expect(answer).toMatchObject({ status: 401, error: { code: `SLIPWAY_HOOK_${code}` } });
    expect(listener.told).toEqual([]);
    expect(JSON.stringify([answer, listener.answered])).not.toContain(SECRET);
  });
});

describe('an event', () => {
  const read = (form: Parameters<typeof readEvents>[0], body: string, event?: string) =>
    readEvents(form, { body: new TextEncoder().encode(body), header: () => event });

  it('is each alert of a group, with its own status and start', () => {
    expect(read('alertmanager', ALERTS)).toMatchObject([
      {
        title: 'AnswersWorse: score below 0.7',
        status: 'firing',
        began: '2026-01-01T11:59:00.123Z',
        fields: { receiver: 'slipway', labels: { target: 'production' } },
      },
      { title: 'an alert without a name', status: 'resolved' },
    ]);
  });

  it('began at a time in UTC if the product names no zone, wherever the listener runs', () => {
    vi.stubEnv('TZ', 'Asia/Kathmandu');
    onTestFinished(() => void vi.unstubAllEnvs());
    const [alert] = read('langsmith', LANGSMITH_ALERT.replace('11:58:00Z', '11:58:00.5'));
    expect(alert?.began).toBe('2026-01-01T11:58:00.500Z');
  });

  it('is the same for a repeated alert, and another one if it fires again or is resolved', () => {
    const [first] = read('alertmanager', ALERTS);
    const again = read('grafana', ALERTS.replace('"receiver":"slipway"', '"receiver":"other"'));
    expect(again[0]?.id).toBe(first?.id);
    const anew = read('alertmanager', ALERTS.replace('T11:59', 'T11:58'));
    expect(anew[0]?.id).not.toBe(first?.id);
    const resolved = read(
      'alertmanager',
      ALERTS.replace('"status":"firing","labels"', '"status":"resolved","labels"'),
    );
    expect(resolved[0]?.id).not.toBe(first?.id);
  });

  it('is identified by what GitHub signed, not by the headers', () => {
    const [run] = read('github', WORKFLOW_RUN, 'workflow_run');
    expect(run).toMatchObject({
      title: 'workflow_run evals failure main acme/agent',
      began: '2026-01-01T11:00:00.000Z',
      fields: { event: 'workflow_run', workflow_run: { conclusion: 'failure' } },
    });
  });

  it('has a title of one line', () => {
    const body = JSON.stringify({ id: '1', title: 'first\n  \u202esecond' });
    expect(read('generic', body)).toMatchObject([{ title: 'first second' }]);
  });

  it('is an alert or a prompt of the public platform', () => {
    expect(read('langsmith', LANGSMITH_ALERT)).toMatchObject([
      { title: 'low score in greeter: feedback_score 0.41, threshold 0.7', fields: { event: 'alert' } },
    ]);
    expect(read('langsmith', PROMPT)).toMatchObject([
      { title: 'commit 0123456789ab of the prompt greeting by ada', fields: { event: 'commit' } },
    ]);
  });

  it.each([
    ['alertmanager', '{}', '"alerts" is not a list'],
    ['alertmanager', '{"alerts":[1]}', '"alerts.0" is not an object'],
    ['alertmanager', '{"alerts":[{}]}', '"alerts.0" has no fingerprint, or no startsAt'],
    ['alertmanager', JSON.stringify({ alerts: Array(501).fill({}) }), /more than 500 alerts/],
    ['langsmith', '{}', /neither an alert/],
    ['generic', '{}', /"id" is not a text/],
    ['generic', '{"id":"1","severity":"page"}', /"severity" is none of/],
    ['generic', '{"id":"1","labels":{"a":{}}}', /texts, numbers and truth values only/],
    ['generic', '{"id":"1","at":"yesterday"}', /"at" is not a time/],
    ['generic', '[]', 'the body is not a JSON object'],
    ['generic', '{"id":', 'the body is not JSON in UTF-8'],
  ] as const)('is rejected if it is not of the form %s: %s', (form, body, message) => {
    expect(() => read(form, body)).toThrow(message);
  });
});
