import { describe, expect, it } from 'vitest';
import { VOCABULARY } from '@slipway/contract/controlPlane/vocabulary';

import { chooseEntry } from '../../src/config/chooseEntry.ts';
import { releaseSettings } from '../../src/config/releaseSettings.ts';
import { parseConfig } from './parseConfig.ts';

const CONFIG = parseConfig(
  `
targets:
  staging:
    controlPlane: HTTP://LocalHost:80/api/
    apiKey: { from: env:KEY }
    tenantId: 1B9E2F7C-7d5e-4f4e-8a53-111111111111
    deployment: greeter
    secrets: [{ name: MODEL_KEY, from: env:MODEL_KEY }]
    soak: 2m
  images:
    controlPlane: https://control.example
    apiKey: { from: env:KEY }
    deploymentId: 3f0e8a9e-4f67-4a3c-8d6c-0a3c9a0f1b2d
    source: external_image
    image: registry.example/agent:1
    resources: { cpu: 1 }
artifact: { installCommand: npm ci, graphConfig: agent/graph.json }
checks: [{ name: greets, assistant: greeter, expect: { maxLatency: 2s }, timeout: 5s, feedbackKey: smoke }]
steps: { deployed: { scheduleToClose: 10m, retry: { maximumAttempts: 0 } } }
`,
  'slipway.yaml',
);

describe('the settings of a release', () => {
  it('carry references to secrets, the normalized address, and durations in milliseconds', () => {
    expect(releaseSettings(CONFIG, 'staging')).toEqual({
      target: {
        name: 'staging',
        controlPlane: 'http://localhost/api',
        apiKey: { from: 'env:KEY' },
        tenantId: '1b9e2f7c-7d5e-4f4e-8a53-111111111111',
        deployment: 'greeter',
        source: 'internal_source',
        sourceConfig: { install_command: 'npm ci' },
        secrets: [{ name: 'MODEL_KEY', from: 'env:MODEL_KEY' }],
      },
      checks: [
        {
          name: 'greets',
          assistant: 'greeter',
          input: {},
          expect: { maxLatencyMs: 2_000 },
          timeoutMs: 5_000,
          feedbackKey: 'smoke',
        },
      ],
      steps: { deployed: { scheduleToCloseMs: 600_000, retry: { maximumAttempts: 0 } } },
      soakMs: 120_000,
      pauseMs: 86_400_000,
      queue: 'latest',
      graphConfigPath: 'agent/graph.json',
    });
  });

  it('of an image omit what is only for built sources', () => {
    const settings = releaseSettings(CONFIG, 'images');
    expect(settings.graphConfigPath).toBeNull();
    expect(settings.target.sourceConfig).toEqual({ resource_spec: { cpu: 1 } });
    expect(settings.target.deployment).toBeUndefined();
  });

  it('for a public vocabulary have public names and the public file', () => {
    const target = (more: string) =>
      `targets: { a: { controlPlane: "http://a.test", apiKey: { from: "env:KEY" }, deployment: a${more} } }`;
    const settings = (more: string) => releaseSettings(parseConfig(target(more), 'slipway.yaml'), 'a');
    expect(settings(', vocabulary: public, deploymentType: prod')).toMatchObject({
      target: { vocabulary: 'public', sourceConfig: { deployment_type: 'prod' } },
      graphConfigPath: VOCABULARY.graphConfigFile.public,
    });
    expect(settings('').graphConfigPath).toBe(VOCABULARY.graphConfigFile.contract);
    expect(settings(', vocabulary: contract').target.vocabulary).toBeUndefined();
    expect(() => settings(', deploymentType: prod')).toThrow(
      'only for source repo_host, or vocabulary public',
    );
  });
});

describe('choosing a target', () => {
  it('requires a name if there are several, and suggests the nearest', () => {
    expect(() => chooseEntry(CONFIG, 'targets', undefined)).toThrow('slipway.yaml has several targets');
    expect(() => chooseEntry(CONFIG, 'targets', 'stagin')).toThrow(
      expect.objectContaining({ code: 'SLIPWAY_TARGET_UNKNOWN', hint: 'did you mean "staging"?' }),
    );
  });
});
