import { z } from 'zod';

import { DEFAULT_RETENTION, parseRetentionAge } from '../domain/artifact/retention.ts';
import { storeUrlProblem } from '../domain/artifact/storeUrl.ts';
import { fewestRuns } from '../domain/check/budget.ts';
import { type Check as CheckOfRelease, runsOfOne } from '../domain/check/check.ts';
import { formatDuration } from '../domain/duration.ts';
import type { ApprovalPolicy } from '../domain/intervention/intervention.ts';
import type { ErrorPolicy } from '../domain/release/release.ts';
import { isRecord } from '../domain/scalars.ts';
import { STEP_NAMES, type StepOverride } from '../domain/step.ts';
import { POLLING_STEPS } from '../domain/stepTable.ts';
import { type Fields, fieldsOf, listOf, namedTwice } from './asWritten.ts';
import { Check, ChecksBudget } from './checkSchema.ts';
import type { FieldProblem } from './configProblem.ts';
import {
  approvalFields,
  BaseUrl,
  Duration,
  durationField,
  enoughApprovers,
  EntryName,
  FreezeList,
  Origin,
  present,
  Reference,
  SecretReference,
  Text,
  typeProblem,
  unless,
  unlessAny,
  wholeNumber,
} from './fields.ts';
import { Guard, guardProblems, Metrics } from './guardSchema.ts';
import { hookProblems, Hooks } from './hookSchema.ts';
import { Notify, notifyProblems } from './notifySchema.ts';
import { previewProblems, Previews } from './previewSchema.ts';
import { promotionProblems, Promotions } from './promotionSchema.ts';

/** Runs a refinement even if other fields are invalid, so that one run reports every problem. */
const EVEN_IF_WRONG = {
  when: ({ value }: { readonly value: unknown }) => typeof value === 'object' && value !== null,
};

const SECRET_EXPECTED = 'expected a list of { name: VARIABLE, from: env:NAME }';

const NamedSecretReference = z.strictObject(
  {
    name: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of an environment variable')
      .describe('The environment variable of the deployment'),
    from: Reference,
  },
  typeProblem(SECRET_EXPECTED),
);

const Repository = z
  .strictObject({
    url: Text.describe('The repository’s URL (source_config.repo_url)'),
    ref: Text.describe('A branch, or a tag as refs/tags/…'),
    integrationId: z
      .uuid()
      .optional()
      .describe('The id of the integration that may read it. Absent: the repository is public'),
    buildOnPush: z
      .boolean()
      .optional()
      .describe('Whether the platform builds each push to the branch by itself; not for a tag'),
  })
  .superRefine(
    unless(
      ({ ref, buildOnPush }) =>
        buildOnPush === true && ref.startsWith('refs/tags/') ? 'a tag is not built on push' : undefined,
      'buildOnPush',
    ),
  );

const Approval = z
  .strictObject({
    ...approvalFields('any person except the one who released'),
    identity: z
      .literal('oidc')
      .optional()
      .describe('Identity that releasers and approvers must prove. Absent: names are not verified'),
  })
  .superRefine(enoughApprovers)
  .transform(({ within: withinMs, ...policy }): ApprovalPolicy => ({ ...policy, withinMs }));

const OnError = z
  .strictObject({
    then: z
      .enum(['rollback', 'wait', 'stop'])
      .describe(
        'rollback: restore the earlier revision. wait: wait for "slipway retry", "skip" or "abort". stop: leave what serves',
      ),
    waitFor: Duration.default(3_600_000).describe('How long to wait for a person. Default: 1h'),
  })
  .transform(({ then, waitFor: waitMs }): ErrorPolicy => ({ then, waitMs }));

const Target = z
  .strictObject({
    controlPlane: BaseUrl.describe('The control plane’s base URL'),
    controlPlaneId: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'expected letters, digits, ".", "_" and "-"')
      .optional()
      .describe('The control plane’s name, if targets reach it under several addresses'),
    vocabulary: z
      .enum(['contract', 'public'])
      .default('contract')
      .describe(
        'The field names that the control plane uses: public for the public service. Default: contract',
      ),
    apiKey: SecretReference.describe('The control plane’s API key'),
    agentApiKey: SecretReference.optional().describe(
      'The agent’s API key. Default: apiKey, if it may be sent there (agentOrigins)',
    ),
    tenantId: z
      .uuid()
      .toLowerCase()
      .optional()
      .describe('The tenant, sent as X-Tenant-Id, if the key is for several. Default: the key’s own'),
    deployment: Text.max(128).optional().describe('The deployment’s name; this or deploymentId is required'),
    deploymentId: z.uuid().optional().describe('The deployment’s id, if it cannot be found by name'),
    agentUrl: BaseUrl.optional().describe('The agent’s address, if the control plane returns none'),
    agentOrigins: z
      .array(Origin)
      .optional()
      .describe(
        'More origins that apiKey may be sent to, to call the agent. The control plane’s own is always allowed',
      ),
    source: z
      .enum(['internal_source', 'external_image', 'internal_image', 'repo_host'])
      .default('internal_source')
      .describe('The source of the deployment'),
    deploymentType: z
      .enum(['dev_free', 'dev', 'prod'])
      .optional()
      .describe('source_config.deployment_type at creation; only for repo_host or vocabulary public'),
    image: Text.optional().describe('The image URI; required for image sources, not allowed for others'),
    repo: Repository.optional().describe('The repository; required for repo_host, not allowed for others'),
    secrets: z
      .array(NamedSecretReference, typeProblem(SECRET_EXPECTED))
      .optional()
      .describe(
        'All secrets of the deployment. Absent: it keeps the secrets that it has. A new value is set by the release of the next commit',
      ),
    resources: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('The control plane’s resource_spec; only for external_image'),
    queue: z
      .enum(['latest', 'all'])
      .default('latest')
      .describe('Whether only the newest queued release is kept (latest), or all of them'),
    approval: Approval.optional().describe('Who must approve a release before it changes anything'),
    onError: OnError.optional().describe(
      'What to do if the outcome of a step is unknown (not if a release is bad)',
    ),
    pauseFor: Duration.default(86_400_000).describe(
      'How long a release may stay paused before it is aborted. Default: 24h',
    ),
    soak: Duration.default(0).describe(
      'How long to repeat the checks on a deployed revision before the release counts as released. Default: no soak',
    ),
    freezes: FreezeList.optional().describe(
      'When the target accepts no release. A rollback is always accepted',
    ),
    guard: Guard.optional().describe(
      'How long metrics guard a released revision: 1h, or several fields. Default: no guard',
    ),
  })
  .superRefine((target, context) => {
    const wrong = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (target.deployment === undefined && target.deploymentId === undefined) {
      wrong('deployment', 'is missing: expected the deployment’s name (or deploymentId)');
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
  }, EVEN_IF_WRONG);

const Prune = z.strictObject({
  keep: wholeNumber(1)
    .default(DEFAULT_RETENTION.keep)
    .describe('How many releases of each target keep their artifacts: the newest ones. Default: 20'),
  olderThan: durationField(parseRetentionAge, 'expected a duration such as 30d or 12h, at least 1h')
    .default(DEFAULT_RETENTION.olderThanMs)
    .describe('The least age of an artifact that is removed, at least 1h. Default: 30d'),
});

const Artifact = z.strictObject({
  path: Text.default('.').describe('The source’s root, relative to this file'),
  ignore: z.array(Text).default([]).describe('More patterns to leave out, as in .gitignore'),
  installCommand: Text.optional().describe(
    'Runs in the root of the source. Default: detected from the lock file, else from packageManager in package.json',
  ),
  buildCommand: Text.optional().describe('Runs in the folder of the graph configuration'),
  graphConfig: Text.optional().describe(
    'The graph configuration within the source. Default: graph.json, or langgraph.json for vocabulary public',
  ),
  store: z
    .string('expected a folder, or s3://BUCKET/PREFIX')
    .trim()
    .min(1, 'must not be empty')
    .superRefine(unless(storeUrlProblem))
    .optional()
    .describe(
      'The artifact store: a folder relative to this file, or s3://BUCKET/PREFIX. Default: SLIPWAY_ARTIFACT_STORE, else artifacts/ in Slipway’s home',
    ),
  prune: Prune.prefault({}).describe(
    'What "slipway prune" removes from the artifact store. Nothing else removes artifacts',
  ),
});

const Step = z
  .strictObject({
    startToClose: Duration.optional().describe(
      'Deadline of one attempt. Default: the sum of its calls’ and checks’ deadlines',
    ),
    scheduleToClose: Duration.optional().describe(
      'Deadline of all attempts together. A restore gets twice as long',
    ),
    heartbeat: Duration.optional().describe(
      'The longest time without a heartbeat before the step’s worker counts as dead',
    ),
    retry: z
      .strictObject({
        initialInterval: Duration.optional().describe('The pause between the first attempt and the second'),
        backoffCoefficient: z
          .number()
          .min(1)
          .optional()
          .describe('The factor between one pause and the next'),
        maximumInterval: Duration.optional().describe('The longest pause'),
        maximumAttempts: wholeNumber(0)
          .optional()
          .describe(
            `0: as often as the deadline allows. It has no effect on steps that poll until their deadline: ${POLLING_STEPS.join(', ')}`,
          ),
      })
      .optional()
      .describe('How a failed attempt is retried'),
  })
  .transform(({ startToClose, scheduleToClose, heartbeat, retry }): StepOverride =>
    present({
      startToCloseMs: startToClose,
      scheduleToCloseMs: scheduleToClose,
      heartbeatMs: heartbeat,
      retry:
        retry &&
        present({
          initialIntervalMs: retry.initialInterval,
          backoffCoefficient: retry.backoffCoefficient,
          maximumIntervalMs: retry.maximumInterval,
          maximumAttempts: retry.maximumAttempts,
        }),
    }),
  );

const TARGETS_EXPECTED = 'define at least one target';

/** The schema of `slipway.yaml`. Its input side is published for editors; its output side has milliseconds and defaults. */
export const Config = z
  .strictObject({
    extends: z
      .union([Text, z.array(Text)])
      .optional()
      .describe('Files to merge below this one, relative to it. Later files override earlier ones'),
    targets: z
      .record(
        EntryName,
        Target.describe('A deployment that releases go to, by a name that you choose'),
        typeProblem(TARGETS_EXPECTED),
      )
      .refine((targets) => Object.keys(targets).length > 0, TARGETS_EXPECTED)
      .describe('The deployments that releases go to: at least one'),
    artifact: Artifact.prefault({}).describe('What is shipped'),
    checks: z
      .array(Check)
      .default([])
      .superRefine(
        unlessAny((checks) => namedTwice(checks, 'checks')),
        EVEN_IF_WRONG,
      )
      .describe('The checks that a released revision must pass, in this order'),
    checksBudget: ChecksBudget.optional().describe(
      'Limits for all checks of a revision together. Default: only each check’s own limits',
    ),
    metrics: Metrics.default({}).describe('What guards of targets measure, by a name of your own'),
    steps: z
      .partialRecord(z.enum(STEP_NAMES), Step)
      .default({})
      .describe('Deadlines and retries of single steps. Absent fields keep their defaults'),
    promotions: Promotions.default({}).describe(
      'Artifacts that are released on one target once they are verified on another',
    ),
    previews: Previews.default({}).describe(
      'A separate deployment for each pull request, by a name that you choose',
    ),
    notify: Notify.default([]).describe('Receivers of notices about the targets'),
    hooks: Hooks.default({}).describe(
      'Webhooks that "slipway hooks" receives from alerts and other products, by name',
    ),
  })
  .superRefine(unlessAny(problemsBetweenParts), EVEN_IF_WRONG);
export type Config = z.infer<typeof Config>;

function problemsBetweenParts(file: Fields): readonly FieldProblem[] {
  const { checks, notify } = file;
  const targets = fieldsOf(file['targets']);
  const promotions = fieldsOf(file['promotions']);
  const names = Object.keys(targets);
  return [
    ...promotionProblems(promotions, names),
    ...previewProblems(fieldsOf(file['previews']), targets, checks),
    ...notifyProblems(notify, names),
    ...hookProblems(fieldsOf(file['hooks']), targets, promotions),
    ...guardProblems(targets, fieldsOf(file['metrics'])),
    ...stepProblems(checks, fieldsOf(file['steps'])),
    ...budgetProblems(fieldsOf(file['checksBudget']), checks),
  ];
}

export type TargetConfig = Config['targets'][string];

/** Steps that run one check in each attempt, and steps that run all of them. */
const ONE_CHECK = ['check', 'baseline'];
const ALL_CHECKS = ['soak', 'bake'];

/** How long the runs of a check, and a score for each, may take together, in milliseconds. */
function longestOf(check: CheckOfRelease): number {
  const scoreMs = Math.max(0, ...(check.evaluators ?? []).map(({ timeoutMs }) => timeoutMs));
  return (check.repeat ?? 1) * (runsOfOne(check) * check.timeoutMs + scoreMs);
}

/** Finds a budget that is too small for its checks even if all of them pass. */
function* budgetProblems({ runs }: Fields, checks: unknown) {
  if (typeof runs !== 'number' || !Array.isArray(checks) || !checks.every(isRecord)) return;
  // How many rows a dataset has is known once it was read.
  const fewest = fewestRuns(
    checks.map((check) => (check['dataset'] === undefined ? check : { dataset: { rows: 1 } })),
  );
  if (fewest <= runs) return;
  yield { path: ['checksBudget', 'runs'], message: `the checks take at least ${fewest} runs: raise it` };
}

function stepProblems(checks: unknown, steps: Fields) {
  const timed = listOf(checks).flatMap((check) => {
    const { name, timeoutMs } = fieldsOf(check);
    if (typeof timeoutMs !== 'number') return [];
    return { name: String(name), timeoutMs: longestOf(check as CheckOfRelease) };
  });
  const [longest = { name: '', timeoutMs: 0 }] = timed.toSorted((a, b) => b.timeoutMs - a.timeoutMs);
  const together = timed.reduce((sum, { timeoutMs }) => sum + timeoutMs, 0);
  return Object.entries(steps).flatMap(([name, step]) => [
    ...(ONE_CHECK.includes(name)
      ? shorterThan(name, step, longest.timeoutMs, `the check "${longest.name}" may take`)
      : []),
    ...(ALL_CHECKS.includes(name) ? shorterThan(name, step, together, 'its checks together may take') : []),
  ]);
}

function shorterThan(name: string, step: unknown, checksMs: number, whatTakes: string) {
  return ['startToClose', 'scheduleToClose'].flatMap((deadline) => {
    const set = fieldsOf(step)[`${deadline}Ms`];
    if (typeof set !== 'number' || set > checksMs) return [];
    const message = `expected more than the ${formatDuration(checksMs)} that ${whatTakes}`;
    return { path: ['steps', name, deadline], message };
  });
}
