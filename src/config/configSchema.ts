import { z } from 'zod';

import { parseDuration } from '../domain/duration.ts';
import { STEP_NAMES } from '../domain/step.ts';
import { isSecretReference } from './secretReference.ts';

/**
 * The schema of `slipway.yaml`. Its input side is published as `docs/slipway.schema.json`, for editors; its output
 * side is what the rest of Slipway works with: durations in milliseconds, defaults filled in.
 */

const Text = z.string().trim().min(1, 'must not be empty');

const Duration = z
  .string()
  .describe('A duration: 250ms, 30s, 5m, 1h30m')
  .transform((text, context) => {
    const milliseconds = parseDuration(text);
    if (milliseconds !== undefined) return milliseconds;
    context.addIssue({
      code: 'custom',
      message: 'expected a duration such as 30s, 5m or 1h30m, 30 days at most',
    });
    return z.NEVER;
  });

const Reference = Text.refine(isSecretReference, {
  message:
    'expected a reference, "env:NAME" or "file:/absolute/path"; a secret itself never belongs in this file',
}).describe('Where the secret comes from: env:NAME or file:/absolute/path');

const SecretReference = z.strictObject({ from: Reference });

const NamedSecretReference = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of an environment variable')
    .describe('The environment variable of the deployment'),
  from: Reference,
});

const ServiceUrl = z
  .url({ protocol: /^https?$/, error: 'expected an http or https URL' })
  .refine((url) => !hasCredentials(url), { message: 'must not carry credentials; use apiKey' });

const Repository = z.strictObject({
  url: Text.describe('The repository’s URL (contract 000: source_config.repo_url)'),
  ref: Text.describe('A branch, or a tag as refs/tags/…'),
  integrationId: z.uuid().optional(),
  buildOnPush: z.boolean().optional(),
});

const Approval = z.strictObject({
  required: z.int().min(1).max(100).default(1).describe('How many people must approve'),
  approvers: z.array(Text).min(1).max(100).optional().describe('Who may. Default: anybody but who released'),
  within: Duration.default(86_400_000).describe('How long it is waited for. Default: 24h'),
});

const OnError = z.strictObject({
  then: z
    .enum(['rollback', 'wait', 'stop'])
    .describe('Put back what served; wait for "slipway retry", "skip" or "abort"; or leave it as it is'),
  waitFor: Duration.default(3_600_000).describe('How long a person is waited for. Default: 1h'),
});

const Target = z
  .strictObject({
    controlPlane: ServiceUrl.describe('The control plane’s base URL'),
    vocabulary: z
      .enum(['contract', 'public'])
      .default('contract')
      .describe('Whose names the control plane speaks: public for the public service. Default: contract'),
    apiKey: SecretReference.describe('The control plane’s API key'),
    agentApiKey: SecretReference.optional().describe('The agent’s API key. Default: apiKey'),
    deployment: Text.max(128).optional().describe('The deployment’s name'),
    deploymentId: z.uuid().optional().describe('The deployment’s id, where it cannot be found by name'),
    agentUrl: ServiceUrl.optional().describe('The agent’s address, where the control plane gives none'),
    source: z
      .enum(['internal_source', 'external_image', 'internal_image', 'repo_host'])
      .default('internal_source')
      .describe('What the deployment is made from'),
    deploymentType: z
      .enum(['dev_free', 'dev', 'prod'])
      .optional()
      .describe('source_config.deployment_type at creation; only for repo_host or vocabulary public'),
    image: Text.optional().describe('The image URI, for image sources'),
    repo: Repository.optional().describe('The repository, for repo_host'),
    secrets: z
      .array(NamedSecretReference)
      .optional()
      .describe('The deployment’s whole list of secrets. Absent: the secrets it has are carried over'),
    resources: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('resource_spec of contract 000; only for external_image'),
    queue: z
      .enum(['latest', 'all'])
      .default('latest')
      .describe('Whether only the newest waiting release is kept, or each of them'),
    approval: Approval.optional().describe('Who must agree before a release changes anything'),
    onError: OnError.optional().describe(
      'What happens where it cannot be told how a step went (not: where a release is bad)',
    ),
    soak: Duration.default(0).describe('How long a released revision is watched before the release counts'),
  })
  .superRefine((target, context) => {
    const wrong = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (target.deployment === undefined && target.deploymentId === undefined) {
      wrong('deployment', 'expected the deployment’s name (or deploymentId)');
    }
    const isImage = target.source === 'external_image' || target.source === 'internal_image';
    if (isImage !== (target.image !== undefined)) {
      wrong('image', isImage ? `expected, for source ${target.source}` : 'only for image sources');
    }
    if ((target.source === 'repo_host') !== (target.repo !== undefined)) {
      wrong(
        'repo',
        target.source === 'repo_host' ? 'expected, for source repo_host' : 'only for source repo_host',
      );
    }
    const isTyped = target.source === 'repo_host' || target.vocabulary === 'public';
    if (target.deploymentType !== undefined && !isTyped) {
      wrong('deploymentType', 'only for source repo_host, or vocabulary public');
    }
    if (target.resources !== undefined && target.source !== 'external_image') {
      wrong('resources', 'only for source external_image');
    }
  });

const Artifact = z.strictObject({
  path: Text.default('.').describe('The source’s root, relative to this file'),
  ignore: z.array(Text).default([]).describe('More patterns to leave out, as in .gitignore'),
  installCommand: Text.optional().describe('Default: detected from the lock file'),
  buildCommand: Text.optional().describe('Run in the folder of the graph configuration'),
  graphConfig: Text.optional().describe(
    'The graph configuration within the source. Default: graph.json, or langgraph.json for vocabulary public',
  ),
  store: Text.optional().describe('The artifact store. Default: artifacts/ in Slipway’s home'),
});

const PATTERN_MAX_CHARACTERS = 500;

const Expectation = z.strictObject({
  status: z
    .enum(['success', 'error', 'interrupted'])
    .optional()
    .describe('How the run ends. Default: success'),
  contains: z.string().optional().describe('Text that the answer contains'),
  matches: z
    .string()
    .max(PATTERN_MAX_CHARACTERS)
    .optional()
    .describe('A regular expression that the answer matches')
    .superRefine((pattern, context) => {
      const problem = pattern === undefined ? undefined : patternProblem(pattern);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    }),
  path: Text.optional().describe('A dot path into the final values to look at instead of the answer'),
  equals: z.unknown().optional().describe('The value that stands there'),
  maxLatency: Duration.optional().describe('The longest time from request to end'),
});

const Check = z.strictObject({
  name: Text,
  assistant: Text.describe('The graph’s name in the graph configuration'),
  input: z.record(z.string(), z.unknown()).default({}).describe('The run’s input'),
  expect: Expectation.default({}),
  timeout: Duration.default(60_000).describe('How long the run may take. Default: 60s'),
  feedbackKey: Text.optional().describe('The feedback key under which the verdict is recorded'),
});

const Step = z.strictObject({
  startToClose: Duration.optional().describe('One attempt’s deadline'),
  scheduleToClose: Duration.optional().describe('All attempts’ deadline'),
  heartbeat: Duration.optional().describe('The longest silence before the step’s worker is taken for dead'),
  retry: z
    .strictObject({
      initialInterval: Duration.optional(),
      backoffCoefficient: z.number().min(1).optional(),
      maximumInterval: Duration.optional(),
      maximumAttempts: z.int().min(0).optional().describe('0: as often as the deadline allows'),
    })
    .optional(),
});

/** `slipway.yaml`. */
export const Config = z.strictObject({
  targets: z
    .record(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'expected letters, digits, dots and dashes'),
      Target,
    )
    .refine((targets) => Object.keys(targets).length > 0, { message: 'expected at least one target' }),
  artifact: Artifact.prefault({}),
  checks: z
    .array(Check)
    .default([])
    .superRefine((checks, context) => {
      checks.forEach((check, index) => {
        if (checks.findIndex(({ name }) => name === check.name) === index) return;
        context.addIssue({
          code: 'custom',
          path: [index, 'name'],
          message: `a check "${check.name}" is there already`,
        });
      });
    }),
  steps: z.partialRecord(z.enum(STEP_NAMES), Step).default({}),
});
export type Config = z.infer<typeof Config>;

/** One target of the file. */
export type TargetConfig = Config['targets'][string];

function hasCredentials(url: string): boolean {
  return URL.canParse(url) && new URL(url).username !== '';
}

function patternProblem(pattern: string): string | undefined {
  try {
    new RegExp(pattern, 'u');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
