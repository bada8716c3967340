import { describe, expect, it } from 'vitest';

import { releaseLines } from '../../../src/cli/commands/show/releaseLines.ts';
import { statusLines } from '../../../src/cli/commands/status/statusLines.ts';
import { FollowView } from '../../../src/cli/follow/followView.ts';
import type { UnderWay } from '../../../src/domain/heartbeat.ts';
import { pastOfResult } from '../../../src/domain/release/pastRelease.ts';
import type { Progress } from '../../../src/domain/release/release.ts';
import { EMPTY_TARGET } from '../../../src/domain/target/targetState.ts';
import { testOutput } from '../testOutput.ts';
import { runningStep, sampleIntervention, sampleProgress, sampleResult } from '../ui/sampleProgress.ts';

const since = '2026-11-21T12:09:00.000Z';
const until = '2999-11-21T12:40:00.000Z';
const NOTHING: UnderWay = { call: null, buildLog: [] };
const DEPLOYING: UnderWay = {
  call: { says: 'revision r2 is DEPLOYING', since, until },
  buildLog: ['added 12 packages', 'build done'],
};
const deploys = sampleProgress([runningStep({ step: 'deployed' })]);

/** What each command prints for a waiting release. */
const COMMANDS: Readonly<Record<string, (progress: Progress, underWay: UnderWay) => readonly string[]>> = {
  status: (progress, underWay) => {
    const running = {
      releaseId: 'release-1',
      kind: 'release',
      requestKey: 'k',
      workflowId: 'w',
      to: null,
    } as const;
    const status = {
      target: 'production',
      workflowId: 'w',
      workflowUrl: null,
      dashboardUrl: null,
      localHold: undefined,
      measured: null,
      hooks: [],
      deployment: 'not asked',
      view: { state: EMPTY_TARGET, running },
      progress,
      ...underWay,
    };
    return statusLines(status, 5, testOutput().screen());
  },
  show: (progress, underWay) => {
    const past = pastOfResult(sampleResult({}));
    const found = {
      target: 'production',
      past,
      result: null,
      progress,
      calls: [],
      request: null,
      workflowUrl: null,
      dashboardUrl: null,
      guard: null,
      ...underWay,
      from: 'temporal',
    } as const;
    return releaseLines(found, testOutput().screen());
  },
  'watch in a log': (progress, underWay) => watched(progress, underWay, false),
  'watch on a terminal': (progress, underWay) => watched(progress, underWay, true),
};

function watched(progress: Progress, { call, buildLog }: UnderWay, live: boolean): readonly string[] {
  const output = { ...testOutput(), live, columns: () => 300 };
  const view = new FollowView(output, 'production', 'release');
  view.show({ kind: 'progress', progress, call });
  view.showBuildLog(buildLog);
  // The lines that are rewritten in place are printed again.
  view.show({ kind: 'progress', progress, call });
  view.close();
  return output.said;
}

const waiting = {
  for: 'approval',
  since,
  until,
  note: 'one approval is needed',
  approvers: ['ada'],
} as const;

const SENTENCES: readonly (readonly [string, Progress, UnderWay, readonly string[]])[] = [
  ['what the control plane says', deploys, DEPLOYING, ['revision r2 is DEPLOYING']],
  ['since when', deploys, DEPLOYING, ['since 2026-11-21 12:09:00Z']],
  ['until when', deploys, DEPLOYING, ['until 2999-11-21 12:40:00Z (']],
  ['the newest build log lines', deploys, DEPLOYING, ['added 12 packages', 'build done']],
  [
    'a requested pause',
    { ...deploys, interventions: [sampleIntervention({})] },
    NOTHING,
    [
      'pauses   before its next step, asked by bo (claimed) at 2026-11-21 12:09:00Z; slipway resume production',
    ],
  ],
  [
    'a skipped check',
    { ...deploys, interventions: [sampleIntervention({ kind: 'skip', what: 'greets' })] },
    NOTHING,
    ['skips    greets, asked by bo (claimed) at 2026-11-21 12:09:00Z'],
  ],
  [
    'the soak’s time left',
    { ...sampleProgress([runningStep({ step: 'soak' })]), watchUntil: until },
    NOTHING,
    ['soak     until 2999-11-21 12:40:00Z (', ' left)'],
  ],
  [
    'who may approve, and with which command',
    { ...sampleProgress([]), waiting },
    NOTHING,
    ['one approval is needed', 'ada may approve; slipway approve production or slipway reject production'],
  ],
];

describe.each(Object.entries(COMMANDS))('%s', (_command, print) => {
  it.each(SENTENCES)('prints %s of a waiting release', (_what, progress, underWay, parts) => {
    const text = print(progress, underWay).join('\n');
    for (const part of parts) expect(text).toContain(part);
  });
});

describe('watch', () => {
  it('prints each line once in a log, even if the state is read repeatedly', () => {
    const lines = COMMANDS['watch in a log']!(
      { ...deploys, interventions: [sampleIntervention({})] },
      DEPLOYING,
    );
    expect(lines.map((line) => line.trim().split('; ')[0])).toEqual([
      'now      revision r2 is DEPLOYING',
      'pauses   before its next step, asked by bo (claimed) at 2026-11-21 12:09:00Z',
      'added 12 packages',
      'build done',
    ]);
  });

  it('erases its temporary lines from a terminal before it prints a permanent one', () => {
    const text = COMMANDS['watch on a terminal']!(deploys, DEPLOYING).join('');
    // Four lines: the step, the control plane's status, two of the build.
    expect(text.endsWith('\r\u001b[3A\u001b[J')).toBe(true);
  });

  it('prints an event for each change, once', () => {
    const output = testOutput({ json: true });
    const view = new FollowView(output, 'production', 'release');
    const { call, buildLog } = DEPLOYING;
    view.show({ kind: 'progress', progress: deploys, call: null });
    view.show({ kind: 'progress', progress: deploys, call });
    view.showBuildLog(buildLog);
    view.showBuildLog([...buildLog]);
    view.close();
    expect(output.events.filter(({ event }) => event === 'under_way')).toEqual([
      { event: 'under_way', call, buildLog: [], interventions: [] },
      { event: 'under_way', call, buildLog, interventions: [] },
    ]);
  });
});
