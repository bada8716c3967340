import type { Check } from '../check/check.ts';
import { artifactFields, IMMUTABLE, patchedFields } from '../deployment/patchedFields.ts';
import { isRecord, type WholeNumber } from '../scalars.ts';
import type { StepName, StepOverrides, StepPolicy } from '../step.ts';
import { coverChecks, patiently, stepPolicy } from '../stepTable.ts';
import type { NamedSecretReference } from '../target/targetSpec.ts';
import { submitRelease } from '../target/targetQueue.ts';
import type { ReleaseAnswer, Running, TargetState } from '../target/targetState.ts';
import { type FieldDifference, fieldDifferences } from './fieldDifferences.ts';
import type { ReleaseRequest } from './release.ts';

export interface PlannedStep {
  readonly step: StepName;
  /** What it works on: a check's name. */
  readonly subject: string | null;
  /** How many times the release takes it. */
  readonly times: WholeNumber;
  readonly policy: StepPolicy;
}

/** What the steps of a release depend on, beside its request. */
export interface Surroundings {
  /** Whether the deployment exists. */
  readonly exists: boolean;
  /** Whether an unknown revision serves: the checks run on it once. */
  readonly unknownBaseline: boolean;
}

type Planned = Pick<ReleaseRequest, 'artifact' | 'checks' | 'steps' | 'soakMs' | 'freezes' | 'approval'>;

/** The steps of a release, in order (design, "The way of a release", 3). */
export function plannedSteps(request: Planned, around: Surroundings): readonly PlannedStep[] {
  const { artifact, checks, steps, soakMs, freezes = [], approval } = request;
  const waits = freezes.length > 0 || (approval?.required ?? 0) > 0;
  const once = (step: StepName): PlannedStep => planned(step, steps);
  const each = (step: StepName): PlannedStep[] => perCheck(step, checks, steps);
  return [
    // A deployment that deploys its artifact when it is created is also looked for before the wait.
    { ...once('find'), times: artifact.kind !== 'tarball' && waits ? 2 : 1 },
    ...(around.exists ? [] : [once('create')]),
    ...(around.unknownBaseline ? each('baseline') : []),
    ...(freezes.length === 0 ? [] : [once('freeze')]),
    ...(artifact.kind === 'tarball' ? [once('upload')] : []),
    once('patch'),
    once('deployed'),
    once('serving'),
    ...each('check'),
    ...(soakMs === 0 ? [] : [planned('soak', coverChecks('soak', steps, checks))]),
    once('record'),
  ];
}

/** The steps that restore one earlier revision. `checks`: those that it passed. */
export function restoringSteps({ checks, steps }: Pick<Planned, 'checks' | 'steps'>): readonly PlannedStep[] {
  const patient = patiently(steps);
  return [
    planned('redeploy', patient),
    planned('deployed', patient),
    planned('serving', patient),
    ...perCheck('check', checks, steps, patiently),
  ];
}

/** The longest total time of steps according to their deadlines, in milliseconds, without soaks and waits. */
export function longestMs(steps: readonly PlannedStep[]): number {
  return steps.reduce((sum, { times, policy }) => sum + times * policy.scheduleToCloseMs, 0);
}

/** The current configuration of a deployment, as far as a release changes it. */
export interface DeploymentNow {
  readonly source: string;
  readonly source_config: Readonly<Record<string, unknown>>;
  readonly source_revision_config: Readonly<Record<string, unknown>>;
  /** The names of its secrets. */
  readonly secrets: readonly string[];
}

/** What a release changes of its deployment, field by field. It names secrets and their references, never values. */
export interface PlannedChange {
  readonly fields: readonly FieldDifference[];
  /** Fields that differ, but cannot change after creation: they stay as they are. */
  readonly immutable: readonly FieldDifference[];
  /** `null`: the deployment keeps its secrets. */
  readonly secrets: readonly PlannedSecret[] | null;
}

/** What a release does with one secret, whether or not its value changes. */
export interface PlannedSecret {
  readonly name: string;
  /** Where its value comes from. `null`: it is removed. */
  readonly from: string | null;
  readonly change: 'added' | 'set_again' | 'removed';
}

/** How the target would answer a release request at this moment. */
export interface PlannedAnswer extends ReleaseAnswer {
  readonly running: Running | null;
  /** The releases that wait before it. */
  readonly waiting: readonly string[];
  /** The releases that it would supersede. */
  readonly superseded: readonly string[];
}

/**
 * The target's answer to this request, made by the same decision function. As the target does, it looks at what serves
 * before it says that the release has been made already.
 * @param active - the serving revision; `null`: none; `undefined`: not known.
 */
export function plannedAnswer(
  { state, running }: { readonly state: TargetState; readonly running: Running | null },
  request: ReleaseRequest,
  active: string | null | undefined,
): PlannedAnswer {
  const answer = (to: TargetState) => submitRelease(to, running, request, new Date().toISOString());
  const first = answer(state);
  const isLooked = first.answer.disposition === 'already_released' && active !== undefined;
  const after = isLooked ? answer({ ...state, activeRevisionId: active }) : first;
  const left = new Set(after.state.queue.map(({ releaseId }) => releaseId));
  const { releaseId } = after.answer;
  const before = state.queue.map((queued) => queued.releaseId);
  return {
    ...after.answer,
    running,
    waiting: before.filter((waiting) => left.has(waiting) && waiting !== releaseId),
    superseded: before.filter((waiting) => !left.has(waiting)),
  };
}

/** What a release changes in a deployment (`null`: none yet), without the upload path. */
export function plannedChange(
  { target, artifact, graphConfigPath }: Pick<ReleaseRequest, 'target' | 'artifact' | 'graphConfigPath'>,
  now: DeploymentNow | null,
): PlannedChange {
  const { source, sourceConfig, secrets } = target;
  if (now === null) {
    const revision = { graph_config_path: graphConfigPath, ...artifactFields(artifact, null) };
    const config = Object.keys(sourceConfig).length === 0 ? {} : { source_config: sourceConfig };
    const created = { source, ...config, source_revision_config: revision };
    return {
      fields: fieldDifferences(undefined, created),
      immutable: [],
      secrets: changedSecrets(secrets ?? [], []),
    };
  }
  const patched = patchedFields({ target, artifact, graphConfigPath, objectPath: null });
  const fixed = Object.fromEntries(Object.entries(sourceConfig).filter(([name]) => IMMUTABLE.has(name)));
  return {
    fields: fieldDifferences(namedIn(patched, now), patched),
    immutable: fieldDifferences(
      { source: now.source, source_config: namedIn(fixed, now.source_config) },
      { source, source_config: fixed },
    ),
    secrets: secrets === undefined ? null : changedSecrets(secrets, now.secrets),
  };
}

/** The current values of the fields that are sent. A field that is replaced as a whole is compared as a whole. */
function namedIn(sent: object, there: object): Record<string, unknown> {
  const has = new Map<string, unknown>(Object.entries(there));
  return Object.fromEntries(
    Object.entries(sent).map(([name, value]): [string, unknown] => {
      const found = has.get(name);
      return [name, GROUPS.has(name) && isRecord(value) ? namedIn(value, found ?? {}) : found];
    }),
  );
}

const GROUPS: ReadonlySet<string> = new Set(['source_config', 'source_revision_config']);

/** The list is replaced as a whole: a secret that is not listed is removed. */
function changedSecrets(
  wanted: readonly NamedSecretReference[],
  names: readonly string[],
): readonly PlannedSecret[] {
  const kept = new Set(wanted.map(({ name }) => name));
  return [
    ...wanted.map(({ name, from }): PlannedSecret => {
      return { name, from, change: names.includes(name) ? 'set_again' : 'added' };
    }),
    ...names
      .filter((name) => !kept.has(name))
      .map((name): PlannedSecret => ({ name, from: null, change: 'removed' })),
  ];
}

function planned(step: StepName, overrides: StepOverrides): PlannedStep {
  // Only the policy, because a row of the table has further fields.
  const { startToCloseMs, scheduleToCloseMs, heartbeatMs, retry } = stepPolicy(step, overrides);
  const policy = { startToCloseMs, scheduleToCloseMs, heartbeatMs, retry };
  return { step, subject: null, times: 1, policy };
}

function perCheck(
  step: StepName,
  checks: readonly Check[],
  steps: StepOverrides,
  patience = (overrides: StepOverrides): StepOverrides => overrides,
): PlannedStep[] {
  return checks.map((check) => ({
    ...planned(step, patience(coverChecks(step, steps, [check]))),
    subject: check.name,
  }));
}
