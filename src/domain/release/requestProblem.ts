import { isDeeperThan } from '@slipway/contract/json';
import { SECRET_REFERENCE } from '@slipway/contract/secretReference';

import type { Actor } from '../actor.ts';
import type { Artifact } from '../artifact/artifact.ts';
import { storeUrlProblem } from '../artifact/storeUrl.ts';
import { jsonBytes } from '../bounds.ts';
import type { ChecksBudget } from '../check/budget.ts';
import { type Check, type Turn, turnProblem, TURNS_MAX } from '../check/check.ts';
import { type Dataset, DATASET_MAX, datasetProblem } from '../check/dataset.ts';
import { type Evaluator, EVALUATORS_MAX, ON_NO_SCORE } from '../check/evaluator.ts';
import { type Expectation, type ExpectedNumber, patternProblem } from '../check/expectation.ts';
import { REPEAT_MAX, repetitionProblem } from '../check/repetition.ts';
import { ARGS_MODES, type ExpectedCall, type ExpectedTools, TOOL_MODES } from '../check/trajectory.ts';
import { DURATION_MAX_MS } from '../duration.ts';
import { freezeProblem, type FreezeWindow } from '../freeze/freeze.ts';
import {
  type AllowedChange,
  EVERY_LEAST_MS,
  type GuardMetric,
  type GuardPolicy,
  METRICS_MAX,
  metricProblem,
  type MetricSource,
} from '../guard/guardPolicy.ts';
import { type ApprovalPolicy, checkNameProblem, tooFewApprovers } from '../intervention/intervention.ts';
import { NOTICE_EVENTS, RECEIVERS_MAX, type ReceiverSpec } from '../notify/notice.ts';
import { type RetryPolicy, STEP_NAMES, type StepOverride, type StepOverrides } from '../step.ts';
import { isRecord } from '../scalars.ts';
import { isOrigin } from '../target/origin.ts';
import {
  type NamedSecretReference,
  type SecretReference,
  serviceUrlProblem,
  TARGET_NAME,
  type TargetSpec,
} from '../target/targetSpec.ts';
import { TRACEPARENT } from '@slipway/contract/traceparent';
import type { ErrorPolicy, ReleaseRequest } from './release.ts';
import {
  anyText,
  anything,
  choice,
  consistent,
  type Fields,
  flag,
  list,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  type Rule,
  text,
  textLike,
  textWhere,
  variants,
  whole,
} from '../shape.ts';

/**
 * What is wrong with a release request; `undefined` if nothing. Targets validate every update with it, and
 * `slipway.yaml` is checked with it, too. A valid request fails no workflow task and fits into a target's state
 * (design, rule 9). Unknown fields are ignored, because the command may be newer than the worker.
 */
export function releaseRequestProblem(raw: unknown): string | undefined {
  if (!isRecord(raw)) return 'the request is not an object';
  if (isDeeperThan(raw, LEVELS_MAX)) return `the request is nested deeper than ${LEVELS_MAX} levels`;
  if (jsonBytes(raw) > REQUEST_MAX_BYTES) return `the request is larger than ${REQUEST_MAX_BYTES} bytes`;
  return REQUEST(raw, '');
}

const REQUEST_MAX_BYTES = 200_000;
const LEVELS_MAX = 100;
const TEXT = text(1_000);
const DURATION = whole(1, DURATION_MAX_MS);
const DURATION_OR_NONE = whole(0, DURATION_MAX_MS);
const COUNT = whole(0, Number.MAX_SAFE_INTEGER);
const URL_OF_SERVICE = textWhere(1_000, serviceUrlProblem);
const ORIGIN = textWhere(1_000, (text) => (isOrigin(text) ? undefined : 'expected an origin'));
const URL_OF_STORE = textWhere(1_000, storeUrlProblem);
const INSTANT = textLike(
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/u,
  'a time in ISO 8601',
);
const UUID = textLike(/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/iu, 'a uuid');
const DIGEST = textLike(/^sha256:[0-9a-f]{64}$/u, '"sha256:" and 64 hexadecimal digits');
const FROM = textLike(SECRET_REFERENCE, 'a reference, "env:NAME" or "file:/absolute/path"');
export const REFERENCE = object<SecretReference>(() => ({ from: FROM }));
const NAMED_REFERENCE = object<NamedSecretReference>(() => ({ name: TEXT, from: FROM }));

export const TARGET = object<TargetSpec>(() => ({
  // The name of a folder of records.
  name: textLike(TARGET_NAME, 'letters, digits, dots and dashes, 128 at most'),
  controlPlane: URL_OF_SERVICE,
  controlPlaneId: optional(TEXT),
  vocabulary: optional(choice<TargetSpec['vocabulary']>({ contract: true, public: true })),
  apiKey: REFERENCE,
  tenantId: optional(UUID),
  agentApiKey: optional(REFERENCE),
  // Part of URLs, which must not contain lone surrogates.
  deployment: textWhere(1_000, (name) => (/\p{Surrogate}/u.test(name) ? 'expected Unicode text' : undefined)),
  preview: optional(flag),
  deploymentId: optional(UUID),
  agentUrl: optional(URL_OF_SERVICE),
  agentOrigins: optional(list(ORIGIN, 100)),
  source: choice<TargetSpec['source']>({
    repo_host: true,
    external_image: true,
    internal_image: true,
    internal_source: true,
  }),
  sourceConfig: record,
  secrets: optional(list(NAMED_REFERENCE, 1_000)),
}));

const ARTIFACT = variants<Artifact>(() => ({
  tarball: { digest: DIGEST, sizeBytes: whole(0, Number.MAX_SAFE_INTEGER), store: URL_OF_STORE },
  image: { uri: TEXT },
  git: { ref: TEXT },
}));

const ANY_NUMBER = number(-Number.MAX_VALUE, Number.MAX_VALUE);

const EXPECTED_CALL = object<ExpectedCall>(() => ({ name: TEXT, args: optional(record) }));

const EXPECTED_TOOLS = object<ExpectedTools>(() => ({
  mode: optional(oneOf(TOOL_MODES)),
  argsMode: optional(oneOf(ARGS_MODES)),
  calls: list(EXPECTED_CALL, 100),
}));

const EXPECTATION: Rule = object<Expectation>(() => ({
  status: optional(choice<Expectation['status']>({ success: true, error: true, interrupted: true })),
  contains: optional(anyText),
  matches: optional(textWhere(1_000, patternProblem)),
  path: optional(TEXT),
  equals: anything,
  jsonSchema: optional(record),
  number: optional(
    object<ExpectedNumber>(() => ({
      equals: optional(ANY_NUMBER),
      tolerance: optional(number(0, Number.MAX_VALUE)),
      min: optional(ANY_NUMBER),
      max: optional(ANY_NUMBER),
    })),
  ),
  tools: optional(EXPECTED_TOOLS),
  maxToolCalls: optional(COUNT),
  maxTokens: optional(COUNT),
  maxLatencyMs: optional(DURATION_OR_NONE),
  not: optional((value, path) => EXPECTATION(value, path)),
  anyOf: optional(list((value, path) => EXPECTATION(value, path), 20)),
  allOf: optional(list((value, path) => EXPECTATION(value, path), 20)),
  reference: optional(choice<Expectation['reference']>({ equals: true, contains: true })),
}));

const TURN = object<Turn>(() => ({ input: optional(record), resume: anything, expect: EXPECTATION }));

const TURNS = consistent(list(TURN, TURNS_MAX), (turns: readonly Turn[]) => {
  const problem = turnProblem(turns);
  return problem && { ...problem, field: `${problem.turn}.${problem.field}` };
});

const EVALUATOR = object<Evaluator>(() => ({
  name: TEXT,
  url: URL_OF_SERVICE,
  secret: optional(REFERENCE),
  minScore: number(0, 1),
  timeoutMs: DURATION,
  onNoScore: oneOf(ON_NO_SCORE),
}));

const DATASET = consistent(
  object<Dataset>(() => ({
    digest: DIGEST,
    of: whole(1, DATASET_MAX.rows),
    rows: whole(1, DATASET_MAX.asked),
    seed: whole(0, 2 ** 32 - 1),
    concurrency: whole(1, DATASET_MAX.concurrency),
    passRate: optional(number(0, 1)),
    undecided: optional(choice<Dataset['undecided']>({ pass: true })),
  })),
  inField('rows', datasetProblem),
);

const CHECK = consistent(
  object<Check>(() => ({
    name: textWhere(1_000, checkNameProblem),
    assistant: TEXT,
    input: record,
    expect: EXPECTATION,
    turns: optional(TURNS),
    evaluators: optional(list(EVALUATOR, EVALUATORS_MAX)),
    reference: anything,
    dataset: optional(DATASET),
    repeat: optional(whole(1, REPEAT_MAX)),
    pass: optional(whole(1, REPEAT_MAX)),
    timeoutMs: DURATION,
    feedbackKey: optional(TEXT),
  })),
  inField('pass', repetitionProblem),
);

const BUDGET = object<ChecksBudget>(() => ({
  timeMs: optional(DURATION),
  runs: optional(COUNT),
  tokens: optional(COUNT),
}));

/** Options that Temporal rejects would fail the workflow task again and again. */
const STEP = optional(
  object<StepOverride>(() => ({
    startToCloseMs: optional(DURATION),
    scheduleToCloseMs: optional(DURATION),
    heartbeatMs: optional(DURATION),
    retry: optional(
      object<RetryPolicy>(() => ({
        initialIntervalMs: optional(DURATION),
        maximumIntervalMs: optional(DURATION),
        backoffCoefficient: optional(number(1, 100)),
        maximumAttempts: optional(whole(0, 100_000)),
      })),
    ),
  })),
);

const FREEZE = consistent(
  object<FreezeWindow>(() => ({
    name: TEXT,
    // Whether it exists depends on the machine: the activity that evaluates freezes reports it.
    timeZone: TEXT,
    from: TEXT,
    until: TEXT,
    then: choice<FreezeWindow['then']>({ wait: true, refuse: true }),
  })),
  freezeProblem,
);

const APPROVAL = consistent(
  object<ApprovalPolicy>(() => ({
    // 0: the promotion has asked for it.
    required: whole(0, 100),
    approvers: optional(list(TEXT, 100)),
    withinMs: DURATION,
    otherwise: optional(choice<ApprovalPolicy['otherwise']>({ reject: true, approve: true })),
    identity: optional(choice<ApprovalPolicy['identity']>({ oidc: true })),
  })),
  inField('required', tooFewApprovers),
);

const CHANGE = object<AllowedChange>(() => ({ by: number(0, Number.MAX_VALUE), isRelative: flag }));
const METRIC_URL = textWhere(2_000, serviceUrlProblem);
const QUERY = text(10_000);

const METRIC = consistent(
  object<GuardMetric>(() => ({
    name: TEXT,
    source: variants<MetricSource>(() => ({
      prometheus: { url: URL_OF_SERVICE, query: QUERY, token: optional(REFERENCE) },
      http: { url: METRIC_URL, path: TEXT, token: optional(REFERENCE) },
      feedback: {
        url: URL_OF_SERVICE,
        apiKey: REFERENCE,
        tenantId: optional(UUID),
        project: TEXT,
        key: TEXT,
        atLeast: whole(1, 100_000),
      },
    })),
    max: optional(ANY_NUMBER),
    min: optional(ANY_NUMBER),
    risesBy: optional(CHANGE),
    fallsBy: optional(CHANGE),
  })),
  ({ source, ...limits }: GuardMetric) =>
    metricProblem({ ...limits, url: source.kind === 'http' ? source.url : undefined }),
);

const GUARD = object<GuardPolicy>(() => ({
  forMs: DURATION,
  everyMs: whole(EVERY_LEAST_MS, DURATION_MAX_MS),
  afterMs: DURATION_OR_NONE,
  noData: choice<GuardPolicy['noData']>({ continue: true, rollback: true }),
  hold: optional((value, path) => (value === false ? undefined : `"${path}" is not false`)),
  metrics: list(METRIC, METRICS_MAX),
}));

const NAMED = { name: TEXT, events: optional(list(oneOf(NOTICE_EVENTS), NOTICE_EVENTS.length)) };
const OF_GITHUB = {
  ...NAMED,
  apiUrl: URL_OF_SERVICE,
  token: REFERENCE,
  repository: optional(textLike(/^[\w.-]+\/[\w.-]+$/u, 'owner/name')),
};
const RECEIVER = variants<ReceiverSpec>(() => ({
  slack: { ...NAMED, url: REFERENCE },
  webhook: { ...NAMED, url: REFERENCE, secret: REFERENCE },
  github_deployment: { ...OF_GITHUB, environment: optional(TEXT) },
  github_status: { ...OF_GITHUB, context: optional(TEXT) },
}));

const REQUEST = object<ReleaseRequest>(() => ({
  requestKey: TEXT,
  target: TARGET,
  artifact: ARTIFACT,
  graphConfigPath: nullable(TEXT),
  checks: list(CHECK, 100),
  checksBudget: optional(BUDGET),
  steps: object<StepOverrides>(
    () => Object.fromEntries(STEP_NAMES.map((name) => [name, STEP])) as Fields<StepOverrides>,
  ),
  soakMs: DURATION_OR_NONE,
  queue: choice<ReleaseRequest['queue']>({ latest: true, all: true }),
  commit: optional(TEXT),
  committedAt: optional(INSTANT),
  ref: optional(TEXT),
  recordStore: URL_OF_STORE,
  overrideHold: optional(flag),
  replaces: optional(nullable(TEXT)),
  onError: optional(
    object<ErrorPolicy>(() => ({
      then: choice<ErrorPolicy['then']>({ rollback: true, wait: true, stop: true }),
      waitMs: DURATION_OR_NONE,
    })),
  ),
  pauseMs: optional(DURATION),
  approval: optional(APPROVAL),
  freezes: optional(list(FREEZE, 100)),
  overrideFreeze: optional(flag),
  freezeSkippedBy: optional(TEXT),
  guard: optional(GUARD),
  notify: optional(list(RECEIVER, RECEIVERS_MAX)),
  trace: optional(textLike(TRACEPARENT, 'a traceparent of version 00')),
  requestedBy: object<Actor>(() => ({
    who: TEXT,
    from: TEXT,
    reason: optional(TEXT),
    // Only a worker sets this, after it has verified the proof.
    proved: (value, path) =>
      value === undefined ? undefined : `"${path}" is nothing that a request may say`,
  })),
  identity: optional(TEXT),
}));

/** Reports every problem that `problemOf` finds as one of this field. */
function inField<T>(field: string, problemOf: (value: T) => string | undefined) {
  return (value: T) => {
    const message = problemOf(value);
    return message === undefined ? undefined : { field, message };
  };
}
