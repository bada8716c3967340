import { expect, it } from 'vitest';

import { Guard } from '../../../src/dashboard/guard/guardView.tsx';
import type { GuardOnPage } from '../../../src/dashboard/live/guardWatch.ts';
import { unreadTarget } from '../../../src/dashboard/live/targetWatch.ts';
import { renderText } from '../../../src/dashboard/page/layout.tsx';
import type { Guarding } from '../../../src/domain/guard/guarding.ts';
import type { GuardPolicy } from '../../../src/domain/guard/guardPolicy.ts';
import { EMPTY_TARGET } from '../../../src/domain/target/targetState.ts';

const AT = '2026-11-25T12:00:00.000Z';
const GUARDING: Guarding = {
  workflowId: 'guard:x/release-7',
  releaseId: 'release-7',
  revisionId: 'r',
  until: AT,
};
const source = { kind: 'http', url: 'http://metrics.test', path: 'value' } as const;
const POLICY: GuardPolicy = {
  forMs: 3_600_000,
  everyMs: 60_000,
  afterMs: 0,
  noData: 'continue',
  metrics: [
    { name: 'error_rate', source, max: 0.05, risesBy: { by: 0.5, isRelative: true } },
    { name: 'helpful', source, min: 0.8 },
  ],
};

function text(guarding: Guarding, guard?: Partial<GuardOnPage>): string {
  const snapshot = {
    ...unreadTarget({ workflowId: 'target:x', name: 'production' }),
    view: { state: { ...EMPTY_TARGET, guard: guarding }, running: null },
    ...(guard === undefined
      ? {}
      : {
          guard: {
            workflowId: GUARDING.workflowId,
            policy: POLICY,
            says: null,
            measured: null,
            report: null,
            ...guard,
          },
        }),
  };
  return renderText(<Guard snapshot={snapshot} />)
    .replace(/<[^>]+>/gu, '|')
    .replace(/\|+/gu, '|');
}

it('shows each metric of a guard with its last value, its limits, and when it was measured', () => {
  const values = [
    { metric: 'error_rate', value: 0.012, before: 0.01 },
    { metric: 'helpful', value: null, before: null, missing: '12 of 20 scores' },
  ];
  const shown = text(GUARDING, { measured: { at: AT, values } });
  expect(shown).toContain('release-7| is guarded: |until 25 Nov 2026, 12:00 UTC');
  expect(shown).toContain('|error_rate|0.012| (0.01 in the hour before)|at most 0.05, may rise by 50 %|');
  expect(shown).toContain('|helpful|no data|: 12 of 20 scores|at least 0.8|');
  expect(shown).toContain(
    'Measured |25 Nov 2026, 12:00 UTC|, and every 1m00s. Missing data changes nothing.',
  );
});

it('shows what a guard did last, and keeps its limits', () => {
  const breach = { metric: 'error_rate', kind: 'above_max', value: 0.12, limit: 0.05 } as const;
  const shown = text({ ...GUARDING, ended: { at: AT, verdict: 'worse', note: '', breach } }, {});
  expect(shown).toContain(
    'release-7|: the guard asked for a rollback, error_rate 0.12 &gt; 0.05. |25 Nov 2026',
  );
  expect(shown).toContain('at most 0.05');
});

it('shows that a guard has ended which told its target nothing', () => {
  const report = { releaseId: 'release-7', at: AT, verdict: 'unknown', note: 'it was terminated' } as const;
  const shown = text(GUARDING, { report });
  expect(shown).toContain('release-7|: the guard could not go on, it was terminated. ');
  expect(shown).not.toContain('is guarded');
});

it('shows no values of another guard', () => {
  const shown = text(GUARDING, { workflowId: 'guard:x/release-6', says: 'error_rate 0.5' });
  expect(shown).not.toContain('error_rate');
});
