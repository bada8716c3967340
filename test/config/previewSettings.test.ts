import { describe, expect, it } from 'vitest';

import { choosePreview, previewTerms, withPreview, withPreviewOf } from '../../src/config/previewSettings.ts';
import { releaseSettings } from '../../src/config/releaseSettings.ts';
import { errorsIn } from './errorsIn.ts';
import { parseConfig } from './parseConfig.ts';

const TARGETS = `
targets:
  staging:
    controlPlane: http://localhost:8000
    apiKey: { from: env:SLIPWAY_API_KEY }
    deploymentId: 11111111-1111-4111-8111-111111111111
    agentUrl: http://localhost:9000
    secrets: [{ name: MODEL_KEY, from: env:MODEL_KEY }]
    approval: { required: 2 }
    soak: 1h
    queue: all
    freezes: [{ name: nights, from: "22:00", until: "06:00" }]
  images:
    controlPlane: http://localhost:8000
    apiKey: { from: env:SLIPWAY_API_KEY }
    deployment: images
    source: external_image
    image: registry.test/agent:1
    resources: { cpu: 4 }
checks:
  - { name: greets, assistant: a, input: {}, expect: { contains: hello } }
  - { name: is brief, assistant: a, input: {}, expect: { contains: hi } }
notify:
  - { name: ops, kind: slack, url: { from: env:SLACK } }
`;
const previews = (text: string): string => `${TARGETS}\npreviews:\n${text}`;
const parse = (text: string) => parseConfig(previews(text), 'slipway.yaml', {});
const problemsOf = (text: string): string => errorsIn(previews(text));

describe('previews of slipway.yaml', () => {
  it('have a judge without what decides about a promotion', () => {
    const judged = (fields: string): string =>
      `  pr: { from: staging, deployment: "greeter-pr-{pr}", judge: { assistant: a, ${fields} } }`;
    const { preview } = choosePreview(parse(judged('inputs: inputs.jsonl')), undefined);
    expect(preview.judge).toMatchObject({ inputs: 'inputs.jsonl', concurrency: 4 });
    expect(problemsOf(judged('inputs: inputs.jsonl, onInconclusive: fail'))).toContain('onInconclusive');
    expect(problemsOf(judged('repetitions: 2'))).toContain('expected a file of inputs, or recorded: true');
  });

  it('have a deadline of 3 days and a limit of 10', () => {
    const { preview } = choosePreview(
      parse('  pr: { from: staging, deployment: "greeter-pr-{pr}" }'),
      undefined,
    );
    expect(preview).toMatchObject({ ttl: 259_200_000, max: 10 });
  });

  it('copy their target, except what belongs to its deployment or its people', () => {
    const config = parse('  pr: { from: staging, deployment: "greeter-pr-{pr}", checks: [greets] }');
    const settings = releaseSettings(withPreview(config, choosePreview(config, 'pr'), 12), 'greeter-pr-12');
    expect(settings.target).toMatchObject({
      name: 'greeter-pr-12',
      deployment: 'greeter-pr-12',
      preview: true,
      controlPlane: 'http://localhost:8000',
      secrets: [{ name: 'MODEL_KEY', from: 'env:MODEL_KEY' }],
    });
    expect(settings.target.deploymentId).toBeUndefined();
    expect(settings.target.agentUrl).toBeUndefined();
    expect(settings).toMatchObject({ soakMs: 0, queue: 'latest' });
    expect([settings.approval, settings.freezes, settings.notify]).toEqual([undefined, undefined, undefined]);
    expect(settings.checks.map(({ name }) => name)).toEqual(['greets']);
    expect(releaseSettings(config, 'images').target.preview).toBeUndefined();
  });

  it('of images have the smallest resources by default', () => {
    const of = (fields: string): unknown => {
      const config = parse(`  pr: { from: images, deployment: "a-{pr}"${fields} }`);
      const { target } = releaseSettings(withPreview(config, choosePreview(config, 'pr'), 1), 'a-1');
      return target.sourceConfig['resource_spec'];
    };
    expect(of('')).toEqual({ min_scale: 1, max_scale: 1, cpu: 0.1, memory_mb: 256 });
    expect(of(', resources: { cpu: 2 }')).toEqual({ cpu: 2 });
  });

  it('are targets with the name of their deployment', () => {
    const config = parse('  pr: { from: staging, deployment: "greeter-pr-{pr}" }');
    expect(Object.keys(withPreviewOf(config, 'greeter-pr-7').targets)).toContain('greeter-pr-7');
    expect(withPreviewOf(config, 'greeter-pr-x')).toBe(config);
    expect(withPreviewOf(config, 'staging')).toBe(config);
  });

  it('comment through the public API of their host by default', () => {
    const of = (fields: string) => {
      const comment = `{ kind: gitlab, token: { from: env:TOKEN }${fields} }`;
      const config = parse(`  pr: { from: staging, deployment: "a-{pr}", comment: ${comment} }`);
      return previewTerms(choosePreview(config, undefined), 3).comment?.apiUrl;
    };
    expect(of('')).toBe('https://gitlab.com/api/v4');
    expect(of(', apiUrl: https://git.test/api/v4/')).toBe('https://git.test/api/v4');
  });

  it('are chosen by name if there are several', () => {
    const config = parse(
      '  a: { from: staging, deployment: "a-{pr}" }\n  b: { from: staging, deployment: "b-{pr}" }',
    );
    expect(() => choosePreview(config, undefined)).toThrow('several previews');
    expect(() => choosePreview(config, 'c')).toThrow('no preview "c"');
    expect(() => choosePreview(parseConfig(TARGETS, 'slipway.yaml', {}), undefined)).toThrow(
      'has no previews',
    );
  });

  it.each([
    ['{ from: stagin, deployment: "a-{pr}" }', 'did you mean "staging"?'],
    ['{ from: staging, deployment: a }', 'with {pr} once'],
    ['{ from: staging, deployment: "a-{pr}", checks: [greet] }', 'did you mean "greets"?'],
    [
      '{ from: staging, deployment: "a-{pr}", resources: { cpu: 1 } }',
      'only for previews of targets of source external_image',
    ],
    ['{ from: staging, deployment: "a-{pr}", max: 0 }', 'max'],
    ['{ from: staging, deployment: "a-{pr}", ttl: 10ms }', 'at least 1s'],
    ['{ from: staging, deployment: "a-{pr}", ttls: 3d }', 'ttl'],
    [
      '{ from: staging, deployment: "a-{pr}", comment: { kind: github, token: ghp_secret } }',
      'never the secret itself',
    ],
  ])('are rejected: %s', (preview, problem) => {
    expect(problemsOf(`  pr: ${preview}`)).toContain(problem);
  });

  it('are rejected without a suggestion for a check if there are none', () => {
    const file = previews('  pr: { from: staging, deployment: "a-{pr}", checks: [greets] }');
    const without = file.replace(/checks:\n[^]*?(?=notify:)/, '');
    expect(() => parseConfig(without, 'slipway.yaml', {})).toThrow(/has no check of that name$/m);
  });

  it.each([
    ['deployment: images', 'deployment: agent-7', 'images'],
    ['  images:', '  agent-7:', 'agent-7'],
  ])('cannot have a name of a target, which their removal would delete: %s', (from, to, target) => {
    const file = previews('  pr: { from: staging, deployment: "agent-{pr}" }').replace(from, to);
    expect(() => parseConfig(file, 'slipway.yaml', {})).toThrow(
      `the target "${target}" has the name of a preview, whose removal would delete it`,
    );
  });

  it.each([
    ['a-{pr}', 'a-{pr}'],
    ['a-{pr}', 'a-1{pr}'],
    ['a-1{pr}', 'a-{pr}'],
    ['a-{pr}2', 'a-1{pr}'],
  ])('cannot share a deployment: %s and %s', (one, other) => {
    const both = `  a: { from: staging, deployment: "${one}" }\n  b: { from: staging, deployment: "${other}" }`;
    expect(problemsOf(both)).toContain('the preview "a" has the same deployment');
  });
});
