import { afterEach, describe, expect, it, vi } from 'vitest';

import { FollowView } from '../../../src/cli/follow/followView.ts';
import type { FollowEvent } from '../../../src/temporal/client/release/follow.ts';
import { testOutput } from '../testOutput.ts';
import { runningStep, sampleProgress, sampleStep, sampleVerdict } from '../ui/sampleProgress.ts';

const failedCheck = sampleVerdict({ passed: false, reasons: ['too slow'] });
const find = sampleStep({ step: 'find', detail: 'deployment-1' });
const check = sampleStep({ step: 'check', subject: 'greets', status: 'failed', detail: 'no' });
const redeploy = sampleStep({ step: 'redeploy', subject: 'revision-1', restoring: true });

const STORY: readonly FollowEvent[] = [
  { kind: 'queued', reason: 'next in the queue' },
  { kind: 'started', releaseId: 'release-1', workflowId: 'w' },
  { kind: 'progress', progress: sampleProgress([runningStep({ step: 'find' })]), call: null },
  {
    kind: 'progress',
    progress: sampleProgress([find, runningStep({ step: 'check', subject: 'greets' })]),
    call: null,
  },
  { kind: 'progress', progress: sampleProgress([find, check, redeploy], [failedCheck]), call: null },
];

function shown(
  events: readonly FollowEvent[],
  json: boolean,
  quiet = false,
  what: 'release' | 'rollback' = 'release',
) {
  const output = testOutput({ json, quiet });
  const view = new FollowView(output, 'production', what);
  for (const event of events) view.show(event);
  view.close();
  return output;
}

afterEach(() => void vi.useRealTimers());

describe('following, as text', () => {
  it('prints each step once, when it ends, and when the restore begins', () => {
    const { said } = shown(STORY, false);
    expect(said.map((line) => line.trim().replace(/ {2,}.*/, ''))).toEqual([
      '… waiting: next in the queue',
      '✔ find',
      '✖ check greets',
      'restoring a good revision',
      '✔ restore: redeploy revision-1',
    ]);
  });

  it('prints no steps with --quiet; the caller prints the outcome', () => {
    expect(shown(STORY, false, true).said).toEqual([]);
  });

  it('says during a silence that the rollback continues, if one is followed', () => {
    const silent = { kind: 'silent', who: 'worker', since: Date.now() } as const;
    expect(shown([silent], false, false, 'rollback').said.join('\n')).toContain('(the rollback continues)');
    const alone = { ...silent, why: 'no worker polls: start one' };
    expect(shown([alone], false, false).said.join('\n')).toContain('continues): no worker polls: start one');
  });

  it('repeats a silence half a minute later, whenever it has repeated what came before', () => {
    vi.useFakeTimers();
    const output = testOutput({ json: false });
    const view = new FollowView(output, 'production', 'release');
    view.show({ kind: 'queued', reason: 'next in the queue' });
    vi.advanceTimersByTime(29_000);
    view.show({ kind: 'silent', who: 'temporal', since: Date.now() });
    const silences = () => output.said.filter((line) => line.includes('has not answered')).length;
    vi.advanceTimersByTime(29_000);
    expect(silences()).toBe(1);
    vi.advanceTimersByTime(2_000);
    expect(silences()).toBe(2);
    view.close();
  });

  it('starts again if a rollback follows a release', () => {
    const again: FollowEvent[] = [
      ...STORY,
      { kind: 'started', releaseId: 'rollback-2', workflowId: 'w2' },
      { kind: 'progress', progress: { ...sampleProgress([find]), kind: 'rollback' }, call: null },
    ];
    expect(shown(again, false).said.filter((line) => line.includes('✔ find'))).toHaveLength(2);
  });
});

describe('following, as events', () => {
  it('has the start and the end of each step, and each verdict once', () => {
    const { events, said } = shown(STORY, true);
    expect(said).toEqual([]);
    expect(events.map(({ event, step, status }) => [event, step, status].filter(Boolean).join(' '))).toEqual([
      'queued',
      'started',
      'step find running',
      'step find done',
      'step check running',
      'check',
      'step check failed',
      'step redeploy done',
    ]);
    expect(events.find(({ event }) => event === 'check')).toMatchObject({
      passed: false,
      reasons: ['too slow'],
    });
    expect(events.at(-1)).toMatchObject({ elapsedMs: 1_000, restoring: true });
  });

  it('reports silence and its end', () => {
    const { events } = shown([{ kind: 'silent', who: 'worker', since: 0 }, { kind: 'answering' }], true);
    expect(events).toEqual([
      { event: 'silent', who: 'worker', since: '1970-01-01T00:00:00.000Z' },
      { event: 'answering' },
    ]);
  });
});
