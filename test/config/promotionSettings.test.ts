import { describe, expect, it } from 'vitest';

import { choosePromotion, promotionSettings } from '../../src/config/promotionSettings.ts';
import { errorsIn } from './errorsIn.ts';
import { parseConfig } from './parseConfig.ts';

const target = (name: string): string => `
  ${name}:
    controlPlane: http://localhost:8000
    apiKey: { from: env:SLIPWAY_API_KEY }
    deployment: ${name}
    approval: { required: 2 }
    pauseFor: 1h
    freezes: [{ name: nights, from: "22:00", until: "06:00" }]`;
const TARGETS = `targets:${['staging', 'canary', 'production'].map(target).join('')}`;
const CHAIN = `${TARGETS}
promotions:
  to-canary: { from: staging, to: canary }
  to-production:
    from: canary
    to: production
    schedule: { cron: "0 10 * * 1-5", timeZone: Europe/Berlin }
    soak: 24h
    bake: 1h
    approval: { approvers: [bo], otherwise: approve }
    judge: { inputs: inputs.jsonl, assistant: greeter, onInconclusive: fail }
    freezes: [{ name: weekend, from: Fri 16:00, until: Mon 08:00 }]
`;

describe('a promotion of slipway.yaml', () => {
  const config = parseConfig(CHAIN, 'slipway.yaml');

  it('has its own approval, the freezes of both, its target’s longest pause, and a schedule with explicit settings', () => {
    const settings = promotionSettings(config, 'to-production');
    expect(settings).toMatchObject({
      from: 'canary',
      to: 'production',
      downstream: [],
      soakMs: 86_400_000,
      bakeMs: 3_600_000,
      checkEveryMs: 300_000,
      judge: { inputs: 'inputs.jsonl', onInconclusive: 'fail', confidence: 0.95 },
      approval: { required: 1, approvers: ['bo'], withinMs: 86_400_000, otherwise: 'approve' },
      schedule: { jitterMs: 60_000, overlap: 'skip', catchUpMs: 600_000 },
      release: { pauseMs: 3_600_000 },
    });
    expect(settings.freezes.map(({ name }) => name)).toEqual(['nights', 'weekend']);
  });

  it('has its target’s approval by default, and a list of the targets that follow', () => {
    expect(promotionSettings(config, 'to-canary')).toMatchObject({
      downstream: ['production'],
      approval: { required: 2 },
    });
  });

  it('requires proofs if its target does, also with its own approval', () => {
    const asking = CHAIN.replaceAll('approval: { required: 2 }', 'approval: { identity: oidc }');
    const proving = parseConfig(asking, 'slipway.yaml');
    expect(promotionSettings(proving, 'to-canary')).toMatchObject({ approval: { identity: 'oidc' } });
    expect(promotionSettings(proving, 'to-production')).toMatchObject({
      approval: { identity: 'oidc', approvers: ['bo'], otherwise: 'approve' },
    });
  });

  it('is chosen by its name, or by a target that only it leads to', () => {
    expect(choosePromotion(config, 'to-canary')).toBe('to-canary');
    expect(choosePromotion(config, 'production')).toBe('to-production');
    expect(() => choosePromotion(config, 'to-canry')).toThrow('no promotion "to-canry"');
    expect(() => choosePromotion(config, undefined)).toThrow('slipway.yaml has several promotions');
  });

  it('must be named if several lead to its target', () => {
    const promotions = { ...config.promotions, hotfix: config.promotions['to-production']! };
    expect(() => choosePromotion({ ...config, promotions }, 'production')).toThrow(
      expect.objectContaining({
        message: 'several promotions lead to "production"',
        hint: 'name one of: to-production, hotfix',
      }),
    );
  });
});

it.each([
  ['from: canary, to: prod', /:\d+:\d+ promotions\.p\.to: slipway\.yaml has no target/],
  ['from: canary, to: canary', /expected a target other than from/],
  [
    'from: canary, to: production }\n  q: { from: production, to: canary',
    /lead from "production" back to "canary"/,
  ],
  [
    'from: canary, to: production, schedule: { cron: "0 25 * * *" }',
    /:24:\d+ .*\.schedule\.cron: "25" is no hour/,
  ],
  ['from: canary, to: production, checkEvery: 10ms', /expected at least 1s/],
])('a promotion with { %s } is rejected with its place', (fields, problem) => {
  expect(errorsIn(`${TARGETS}\npromotions:\n  p: { ${fields} }\n`)).toMatch(problem);
});
