import { describe, expect, it } from 'vitest';

import type { Viewer } from '../../../src/dashboard/access/session.ts';
import { EventApprovals, Hooks } from '../../../src/dashboard/hooks/hooksView.tsx';
import { type TargetSnapshot, unreadTarget } from '../../../src/dashboard/live/targetWatch.ts';
import { renderText } from '../../../src/dashboard/page/layout.tsx';
import { headlineOf } from '../../../src/dashboard/targets/targetTexts.ts';
import type { HookDecision, HookEvents } from '../../../src/domain/hooks/hookState.ts';
import { EMPTY_TARGET } from '../../../src/domain/target/targetState.ts';
import type { ListeningHook } from '../../../src/temporal/client/hooks/hookClient.ts';
import { hookOfTarget } from '../../../src/temporal/client/hooks/targetHooks.ts';
import { parseConfig } from '../../config/parseConfig.ts';

const TARGET = 'target:x';
const HOOK = 'hook:alerts:0123456789ab';
const AT = '2026-11-25T12:00:00.000Z';
const ADA: Viewer = { name: 'ada', proved: true, role: 'release' };

const DECISION: HookDecision = {
  rule: 'worse',
  target: 'production',
  targetId: TARGET,
  do: 'rollback',
  state: 'needs_approval',
  note: 'a person must approve from 09:00 until 17:00 (UTC)',
  until: AT,
};

function events(...decisions: readonly HookDecision[]): HookEvents {
  const row = { title: 'it <b>lies</b>', status: 'firing', at: AT, deliveries: 3, decisions } as const;
  return {
    rows: [{ ...row, id: 'event/1' }],
    past: { carried_out: 2 },
    tallies: { 'worse production': { counted: 2, countedAt: Date.parse(AT), actedAt: Date.parse(AT) } },
  };
}

function snapshot(shown: HookEvents | null): TargetSnapshot {
  const view = { state: { ...EMPTY_TARGET, activeRevisionId: 'r' }, running: null };
  const hooks = [hookOfTarget({ name: 'alerts', workflowId: HOOK }, shown, TARGET)];
  return { ...unreadTarget({ workflowId: TARGET, name: 'production' }), view, hooks };
}

function fileWith(rule: string): ListeningHook {
  const yaml = `
targets:
  production: { controlPlane: http://127.0.0.1:1, apiKey: { from: env:KEY }, deployment: agent }
  staging: { controlPlane: http://127.0.0.1:1, apiKey: { from: env:KEY }, deployment: staging }
promotions:
  nightly: { from: staging, to: production }
hooks:
  alerts:
    form: grafana
    secret: { from: env:SECRET }
    on:
      - ${rule}
`;
  const config = parseConfig(yaml, 'slipway.yaml', {}).hooks['alerts']!;
  const targets = new Map([['production', TARGET]]);
  return {
    name: 'alerts',
    workflowId: HOOK,
    config,
    targets,
    promotions: new Map([['nightly', 'production']]),
  };
}

function textOf(html: string): string {
  return html.replace(/<[^>]+>/gu, '').replaceAll('&quot;', '"');
}

describe('the hooks of a target', () => {
  it('show what each rule of the file accepts, starts, and requires, before an event has arrived', () => {
    const file = fileWith(
      '{ name: worse, match: { labels.a: b, labels.c: { matches: "^x$" } }, do: rollback, targets: [production, staging],' +
        ' ifYoungerThan: 1h, atLeast: { count: 3, within: 10m }, atMostOnePer: 6h,' +
        ' approvalBetween: { from: "09:00", until: "17:00" } }',
    );
    const text = textOf(renderText(<Hooks snapshot={{ workflowId: TARGET, hooks: [] }} ofFile={[file]} />));
    expect(text).toContain(
      'worse: roll back production on firing grafana events with labels.a b, labels.c matching ^x$, only if ' +
        'the release is at most 1h00m old, and the event began after it; 3 events arrive within 10m00s; ' +
        'it has not acted for 6h00m; a person approves, from 09:00 until 17:00 (UTC).',
    );
    expect(text).toContain('No event has matched yet.');
    const other = <Hooks snapshot={{ workflowId: 'target:other', hooks: [] }} ofFile={[file]} />;
    expect(textOf(renderText(other))).toBe('');
  });

  it('name the promotion that a rule starts', () => {
    const file = fileWith('{ name: told, do: promotion, promotion: nightly }');
    const text = textOf(renderText(<Hooks snapshot={{ workflowId: TARGET, hooks: [] }} ofFile={[file]} />));
    expect(text).toContain('told: promote to production (nightly) on firing grafana events.');
  });

  it('show each event with its outcome and the reason, and the durable counts, as text', () => {
    const html = renderText(<Hooks snapshot={snapshot(events(DECISION))} ofFile={[]} />);
    const text = textOf(html);
    expect(text).toContain('worse: roll back production. Acted last 25 Nov 2026, 12:00 UTC.');
    expect(text).toContain('Has counted 2 events, the last 25 Nov 2026, 12:00 UTC.');
    expect(text).toContain('needs approval');
    expect(text).toContain('delivered 3 times');
    expect(text).toContain(DECISION.note);
    expect(text).toContain('Earlier events, on all targets: 2 carried out.');
    expect(html).not.toContain('<b>');
  });

  it('show a hook that does not answer', () => {
    const html = renderText(<Hooks snapshot={snapshot(null)} ofFile={[]} />);
    expect(html).toContain('The hook does not answer.');
  });
});

describe('an event that waits for approval', () => {
  it('can be answered by people with the role', () => {
    const shown = snapshot(events(DECISION));
    const html = renderText(<EventApprovals snapshot={shown} viewer={ADA} />);
    expect(textOf(html)).toContain('Waits for approval: roll back production');
    expect(html).toContain(
      'href="/targets/target%3Ax/events/hook%3Aalerts%3A0123456789ab/event%2F1/approve"',
    );
    const read = renderText(<EventApprovals snapshot={shown} viewer={{ ...ADA, role: 'view' }} />);
    expect(read).toContain('Waits for approval');
    expect(read).not.toContain('href');
  });

  it('makes its target wait for a person, and counts once although two rules wait', () => {
    const one = snapshot(events(DECISION, { ...DECISION, rule: 'other', do: 'hold' }));
    expect(headlineOf(one, 0)).toEqual({ tone: 'warn', words: 'an event waits for approval' });
    expect(headlineOf(snapshot(events({ ...DECISION, state: 'carried_out' })), 0).words).toBe('serving');
  });
});
