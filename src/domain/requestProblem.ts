import { jsonBytes } from './bounds.ts';
import { freezeProblem } from './freeze/freezeProblem.ts';
import { receiversProblem } from './notify/receiverProblem.ts';
import { STEP_NAMES } from './step.ts';

/**
 * Says what is wrong with a request for a release, or `undefined` when it can be taken. The command sends only right
 * ones; this guards the target against whatever else is sent to it (design, rule 9): what passes here can neither
 * fail a workflow task for ever, nor outgrow what a target carries from run to run.
 */
export function releaseRequestProblem(raw: unknown): string | undefined {
  if (!isRecord(raw)) return 'the request is not an object';
  if (jsonBytes(raw) > REQUEST_MAX_BYTES) return `the request is larger than ${REQUEST_MAX_BYTES} bytes`;
  return (
    firstProblem(REQUIRED_TEXTS, (path) => textProblem(raw, path, true)) ??
    firstProblem(OPTIONAL_TEXTS, (path) => textProblem(raw, path, false)) ??
    firstProblem(OBJECTS, (path) =>
      isRecord(valueAt(raw, path)) ? undefined : `"${path}" is not an object`,
    ) ??
    choiceProblem(raw, 'target.source', SOURCES) ??
    vocabularyProblem(raw) ??
    choiceProblem(raw, 'queue', ['latest', 'all']) ??
    artifactProblem(raw) ??
    secretsProblem(valueAt(raw, 'target.secrets')) ??
    checksProblem(raw['checks']) ??
    stepsProblem(raw['steps']) ??
    soakProblem(raw['soakMs']) ??
    booleanProblem(raw, 'overrideHold') ??
    pauseProblem(raw['pauseMs']) ??
    onErrorProblem(raw['onError']) ??
    approvalProblem(raw['approval']) ??
    freezesProblem(raw['freezes']) ??
    booleanProblem(raw, 'overrideFreeze') ??
    receiversProblem(raw['notify'])
  );
}

type Fields = Readonly<Record<string, unknown>>;

const REQUEST_MAX_BYTES = 200_000;
const TEXT_MAX_CHARACTERS = 1_000;
const CHECKS_MAX = 100;
const APPROVERS_MAX = 100;
/** The most freezes that a target has. */
const FREEZES_MAX = 100;
/** 30 days. */
const DURATION_MAX_MS = 30 * 86_400_000;
const ATTEMPTS_MAX = 100_000;

const REQUIRED_TEXTS = [
  'requestKey',
  'target.name',
  'target.controlPlane',
  'target.deployment',
  'target.source',
  'target.apiKey.from',
  'artifact.kind',
  'recordStore',
  'requestedBy.who',
  'requestedBy.from',
];
const OPTIONAL_TEXTS = [
  'target.controlPlaneId',
  'target.deploymentId',
  'target.agentUrl',
  'target.agentApiKey.from',
  'graphConfigPath',
  'commit',
  'requestedBy.reason',
];
const OBJECTS = ['target.sourceConfig', 'steps'];
const SOURCES = ['repo_host', 'external_image', 'internal_image', 'internal_source'];
/** The texts that each kind of artifact must have. */
const ARTIFACT_TEXTS: Readonly<Record<string, readonly string[]>> = {
  tarball: ['artifact.digest', 'artifact.store'],
  image: ['artifact.uri'],
  git: ['artifact.ref'],
};
const DEADLINES = ['startToCloseMs', 'scheduleToCloseMs', 'heartbeatMs'];
const INTERVALS = ['initialIntervalMs', 'maximumIntervalMs'];

function artifactProblem(raw: Fields): string | undefined {
  const kind = valueAt(raw, 'artifact.kind');
  const texts =
    typeof kind === 'string' && Object.hasOwn(ARTIFACT_TEXTS, kind) ? ARTIFACT_TEXTS[kind] : undefined;
  if (texts === undefined) return `"artifact.kind" is none of ${Object.keys(ARTIFACT_TEXTS).join(', ')}`;
  const problem = firstProblem(texts, (path) => textProblem(raw, path, true));
  if (problem !== undefined || kind !== 'tarball') return problem;
  return isNumber(valueAt(raw, 'artifact.sizeBytes'), 0, Number.MAX_SAFE_INTEGER)
    ? undefined
    : '"artifact.sizeBytes" is not a size';
}

function secretsProblem(secrets: unknown): string | undefined {
  if (secrets === undefined) return undefined;
  const areReferences =
    Array.isArray(secrets) &&
    secrets.every(
      (secret) =>
        isRecord(secret) && typeof secret['name'] === 'string' && typeof secret['from'] === 'string',
    );
  return areReferences ? undefined : '"target.secrets" is not a list of references';
}

function checksProblem(checks: unknown): string | undefined {
  if (!Array.isArray(checks) || !checks.every(isCheck)) return '"checks" is not a list of checks';
  return checks.length > CHECKS_MAX ? `there are more than ${CHECKS_MAX} checks` : undefined;
}

function isCheck(check: unknown): boolean {
  return (
    isRecord(check) &&
    textProblem(check, 'name', true) === undefined &&
    textProblem(check, 'assistant', true) === undefined &&
    textProblem(check, 'feedbackKey', false) === undefined &&
    isRecord(check['input']) &&
    isRecord(check['expect']) &&
    isNumber(check['timeoutMs'], 1, DURATION_MAX_MS)
  );
}

/** An override that Temporal would refuse fails a workflow task again and again: it must not get that far. */
function stepsProblem(steps: unknown): string | undefined {
  if (!isRecord(steps)) return '"steps" is not an object';
  const names: readonly string[] = STEP_NAMES;
  return firstProblem(Object.keys(steps), (name) => {
    const step = steps[name];
    if (!names.includes(name)) return `"steps.${name.slice(0, TEXT_MAX_CHARACTERS)}" is not a step`;
    if (!isRecord(step)) return `"steps.${name}" is not an object`;
    const retry = step['retry'] ?? {};
    if (!isRecord(retry)) return `"steps.${name}.retry" is not an object`;
    return (
      numberProblem(step, DEADLINES, `steps.${name}`, 1, DURATION_MAX_MS) ??
      numberProblem(retry, INTERVALS, `steps.${name}.retry`, 1, DURATION_MAX_MS) ??
      numberProblem(retry, ['backoffCoefficient'], `steps.${name}.retry`, 1, 100) ??
      numberProblem(retry, ['maximumAttempts'], `steps.${name}.retry`, 0, ATTEMPTS_MAX)
    );
  });
}

function numberProblem(
  fields: Fields,
  names: readonly string[],
  where: string,
  from: number,
  to: number,
): string | undefined {
  return firstProblem(names, (name) => {
    const value = fields[name];
    if (value === undefined) return undefined;
    const whole = name === 'backoffCoefficient' || Number.isInteger(value);
    return whole && isNumber(value, from, to)
      ? undefined
      : `"${where}.${name}" is not between ${from} and ${to}`;
  });
}

function soakProblem(soakMs: unknown): string | undefined {
  return isNumber(soakMs, 0, DURATION_MAX_MS) ? undefined : '"soakMs" is not a duration';
}

function pauseProblem(pauseMs: unknown): string | undefined {
  return pauseMs === undefined || isNumber(pauseMs, 1, DURATION_MAX_MS)
    ? undefined
    : '"pauseMs" is not a duration';
}

function booleanProblem(raw: Fields, name: string): string | undefined {
  const value = raw[name];
  const right = value === undefined || typeof value === 'boolean';
  return right ? undefined : `"${name}" is neither true nor false`;
}

/** Whether a time zone exists depends on who asks: the activity that looks at the freezes says so. */
function freezesProblem(freezes: unknown): string | undefined {
  if (freezes === undefined) return undefined;
  const areFreezes = Array.isArray(freezes) && freezes.length <= FREEZES_MAX && freezes.every(isFreeze);
  return areFreezes ? undefined : `"freezes" is not a list of at most ${FREEZES_MAX} freezes`;
}

function isFreeze(freeze: unknown): boolean {
  if (!isRecord(freeze)) return false;
  const { from, until } = freeze;
  return (
    textProblem(freeze, 'name', true) === undefined &&
    textProblem(freeze, 'timeZone', true) === undefined &&
    choiceProblem(freeze, 'then', ['wait', 'refuse']) === undefined &&
    typeof from === 'string' &&
    typeof until === 'string' &&
    freezeProblem({ from, until }) === null
  );
}

function onErrorProblem(onError: unknown): string | undefined {
  if (onError === undefined) return undefined;
  if (!isRecord(onError)) return '"onError" is not an object';
  return (
    choiceProblem({ onError }, 'onError.then', ['rollback', 'wait', 'stop']) ??
    numberProblem(onError, ['waitMs'], 'onError', 0, DURATION_MAX_MS)
  );
}

function approvalProblem(approval: unknown): string | undefined {
  if (approval === undefined) return undefined;
  if (!isRecord(approval)) return '"approval" is not an object';
  const { approvers } = approval;
  const named =
    approvers === undefined ||
    (Array.isArray(approvers) &&
      approvers.length <= APPROVERS_MAX &&
      approvers.every((who) => typeof who === 'string' && who !== ''));
  if (!named) return `"approval.approvers" is not a list of at most ${APPROVERS_MAX} names`;
  return (
    firstProblem(['required', 'withinMs'], (name) =>
      approval[name] === undefined ? `"approval.${name}" is missing` : undefined,
    ) ??
    (approval['otherwise'] === undefined
      ? undefined
      : choiceProblem({ approval }, 'approval.otherwise', ['reject', 'approve'])) ??
    numberProblem(approval, ['required'], 'approval', 1, APPROVERS_MAX) ??
    numberProblem(approval, ['withinMs'], 'approval', 1, DURATION_MAX_MS)
  );
}

/** Absent in requests from before targets had one. */
function vocabularyProblem(raw: Fields): string | undefined {
  if (valueAt(raw, 'target.vocabulary') === undefined) return undefined;
  return choiceProblem(raw, 'target.vocabulary', ['contract', 'public']);
}

function choiceProblem(raw: Fields, path: string, choices: readonly string[]): string | undefined {
  const value = valueAt(raw, path);
  const right = typeof value === 'string' && choices.includes(value);
  return right ? undefined : `"${path}" is none of ${choices.join(', ')}`;
}

function textProblem(raw: Fields, path: string, required: boolean): string | undefined {
  const value = valueAt(raw, path);
  if (!required && (value === undefined || value === null)) return undefined;
  if (typeof value !== 'string' || value === '') return `"${path}" is not text`;
  return value.length > TEXT_MAX_CHARACTERS
    ? `"${path}" is longer than ${TEXT_MAX_CHARACTERS} characters`
    : undefined;
}

function firstProblem(
  items: readonly string[],
  problemOf: (item: string) => string | undefined,
): string | undefined {
  for (const item of items) {
    const problem = problemOf(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isNumber(value: unknown, from: number, to: number): boolean {
  return typeof value === 'number' && value >= from && value <= to;
}

function valueAt(raw: Fields, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), raw);
}

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
