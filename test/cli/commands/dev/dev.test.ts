import { expect, it } from 'vitest';

import { nextStep } from '../../../../src/cli/commands/dev/dev.ts';

const home = '/home/ada/agent/.slipway';

it('is a release in a folder with slipway.yaml', () => {
  expect(nextStep({ home, usualHome: true, targets: ['staging'] })).toEqual([
    'Next, release in another terminal in this folder:',
    '  slipway release',
  ]);
});

it('names the home if another terminal would use another one', () => {
  expect(nextStep({ home: '/srv/slipway', usualHome: false, targets: ['staging'] })).toEqual([
    'Next, release in another terminal in this folder:',
    '  SLIPWAY_HOME=/srv/slipway slipway release',
  ]);
});

it('says where to go from a folder without slipway.yaml, and which command writes one', () => {
  expect(nextStep({ home, usualHome: true, targets: undefined })).toEqual([
    'Next, release in another terminal in an agent\'s folder ("slipway init" writes its slipway.yaml):',
    `  SLIPWAY_HOME=${home} slipway release`,
  ]);
});

it('is a command that a shell takes as it is', () => {
  const [, command] = nextStep({
    home: "/srv/ada's agent",
    usualHome: false,
    targets: ['canary', 'production'],
  });
  expect(command).toBe(String.raw`  SLIPWAY_HOME='/srv/ada'\''s agent' slipway release canary`);
});
