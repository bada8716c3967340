import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { EVENTS, type JsonEvent } from '../../../src/cli/events/index.ts';

const MAIN_JOB = 'e2e/mainJob.test.ts';
const PROMOTIONS = 'e2e/promotions.test.ts';
const ACCESS = 'cli/platform/accessCommands.test.ts';
const CONTROL_PLANE = 'cli/platform/controlPlaneCommands.test.ts';
const FOLLOWED = 'cli/follow/followView.test.ts';
const REHEARSED = 'cli/rehearse/story.test.ts';
const BREAK_GLASS = 'cli/rollback/breakGlass.test.ts';
const PACKED = 'cli/pack.test.ts';

/** Where no test has a command print it: the compiler alone holds it to its schema. */
type Unseen = { readonly unseen: string };

/**
 * A test in which a real command prints each event. What it prints is held to its schema there, by what all tests share
 * (`test/support/jsonLines.ts`).
 */
const PRINTED: Readonly<Record<JsonEvent['event'], string | Unseen>> = {
  answer: { unseen: 'the demo takes minutes' },
  answering: FOLLOWED,
  artifact: MAIN_JOB,
  audited: MAIN_JOB,
  break_glass: BREAK_GLASS,
  change: ACCESS,
  check: FOLLOWED,
  completion: 'cli/completion.test.ts',
  difference: MAIN_JOB,
  ended: BREAK_GLASS,
  entry: PACKED,
  error: 'cli/errorReport.test.ts',
  finding: 'cli/doctor/findings.test.ts',
  frozen: 'cli/release/freezes.test.ts',
  gave_up: PROMOTIONS,
  hold: PROMOTIONS,
  idle: MAIN_JOB,
  installed: 'cli/temporalInstall.test.ts',
  integration: CONTROL_PLANE,
  intervention: PROMOTIONS,
  judged: 'cli/judge.test.ts',
  key: ACCESS,
  key_revoked: ACCESS,
  linted: 'cli/lint.test.ts',
  listener: CONTROL_PLANE,
  log: MAIN_JOB,
  names: 'cli/completion.test.ts',
  packed: PACKED,
  part: { unseen: 'the demo takes minutes' },
  past_release: MAIN_JOB,
  planned: PROMOTIONS,
  problem: 'cli/lint.test.ts',
  progress: 'cli/temporalInstall.test.ts',
  promotion: PROMOTIONS,
  promotion_ended: PROMOTIONS,
  promotion_status: PROMOTIONS,
  pruned: MAIN_JOB,
  pruned_artifact: MAIN_JOB,
  quarantine: MAIN_JOB,
  queued: FOLLOWED,
  ready: 'e2e/processes.ts',
  rehearsal_ended: REHEARSED,
  rehearsal_unmet: REHEARSED,
  rehearsed_promotion: REHEARSED,
  rehearsed_release: REHEARSED,
  release: MAIN_JOB,
  release_plan: MAIN_JOB,
  removed: CONTROL_PLANE,
  revision: BREAK_GLASS,
  schedule: PROMOTIONS,
  schedule_change: PROMOTIONS,
  secrets_rotated: ACCESS,
  service: { unseen: 'a service of slipway dev has to be killed' },
  silent: FOLLOWED,
  started: FOLLOWED,
  status: MAIN_JOB,
  step: MAIN_JOB,
  stopped: { unseen: 'a line without a field' },
  submitted: MAIN_JOB,
  suspected_secret: PACKED,
  took_over: 'e2e/workerSuccession.test.ts',
  triggered: { unseen: 'a time of a schedule would come round in the middle of others' },
  under_way: 'cli/follow/waitingRelease.test.ts',
  violation: { unseen: 'a rule would have to be broken' },
  waiting: PROMOTIONS,
  warning: { unseen: 'a home that cannot be written to' },
  written: 'cli/init.test.ts',
};

const seen = Object.entries(PRINTED).filter((row): row is [string, string] => typeof row[1] === 'string');

describe('the events of --json', () => {
  it.each(seen)('has a test in which a command prints it: %s', (event, file) => {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    expect(text).toMatch(new RegExp(`['"]${event}['"]`));
  });

  it('are all in the table', () => {
    const names = new Set(EVENTS.map((event) => event.shape.event.value));
    expect(Object.keys(PRINTED).sort()).toEqual([...names].sort());
  });
});
