import { parseDuration } from '../domain/duration.ts';
import { parseFreezeMoment } from '../domain/freeze/freeze.ts';
import { instantOf, isTimeZone } from '../domain/freeze/zonedTime.ts';
import { GITHUB_EVENTS } from '../domain/notify/githubStates.ts';
import { originProblem } from '../domain/target/origin.ts';
import { canonicalAddress } from '../domain/target/targetSpec.ts';
import { POLLING_STEPS } from '../domain/stepTable.ts';
import { type Fields, fieldsOf, listOf } from './asWritten.ts';
import { nearestWord } from './nearestWord.ts';
import type { FieldProblem } from './configProblem.ts';

/** Finds fields of a `slipway.yaml` that have no effect, disclose a key, or name one deployment twice. Reads the raw file, so that errors elsewhere hide no warning. */
export function configWarnings(raw: unknown, now: number): readonly FieldProblem[] {
  const file = fieldsOf(raw);
  const targets = Object.entries(fieldsOf(file['targets'])).map(([name, target]) => ({
    path: ['targets', name],
    target: fieldsOf(target),
  }));
  const hasChecks = Array.isArray(file['checks']) && file['checks'].length > 0;
  const sources = targets.map(({ target }) => target['source'] ?? 'internal_source');
  return [
    ...targets.flatMap(({ path, target }) => [
      ...targetWarnings(path, target, hasChecks),
      ...freezeWarnings(path, target['freezes'], now),
    ]),
    ...sharedDeployments(targets),
    ...artifactWarnings(fieldsOf(file['artifact']), sources),
    ...Object.entries(fieldsOf(file['steps'])).flatMap(([step, policy]) =>
      stepWarnings(step, fieldsOf(policy)),
    ),
    ...notifyWarnings(file['notify']),
    ...Object.entries(fieldsOf(file['promotions'])).flatMap(([name, promotion]) => {
      const path = ['promotions', name];
      const fields = fieldsOf(promotion);
      return [...promotionWarnings(path, fields, hasChecks), ...freezeWarnings(path, fields['freezes'], now)];
    }),
  ];
}

function warn(
  path: readonly PropertyKey[],
  field: string | readonly string[],
  message: string | false,
): FieldProblem[] {
  return message === false ? [] : [{ path: [...path, ...[field].flat()], message, atKey: true }];
}

const NO_CHECKS = 'there are no checks to repeat: the revision is only seen to serve';

function targetWarnings(path: readonly string[], target: Fields, hasChecks: boolean): FieldProblem[] {
  const { source = 'internal_source', vocabulary, resources, soak } = target;
  const onError = fieldsOf(target['onError']);
  const isUnused = resources !== undefined && source !== 'external_image';
  return [
    ...warn(path, 'resources', isUnused && 'has no effect: resources are only for source external_image'),
    ...(isUnused ? [] : Object.keys(fieldsOf(resources))).flatMap((field) =>
      warn(path, ['resources', field], resourceProblem(field, vocabulary === 'public')),
    ),
    ...warn(
      path,
      ['onError', 'waitFor'],
      onError['waitFor'] !== undefined && onError['then'] !== 'wait' && 'has no effect unless then is "wait"',
    ),
    ...warn(path, 'soak', isTime(soak) && !hasChecks && NO_CHECKS),
    ...listOf(target['agentOrigins']).flatMap((origin, index) => {
      const message = typeof origin === 'string' ? originProblem(origin) : undefined;
      return message === undefined ? [] : { path: [...path, 'agentOrigins', index], message };
    }),
  ];
}

/** Two names for one deployment are one target: a copied target whose deployment was not changed. */
function sharedDeployments(
  targets: readonly { readonly path: readonly string[]; readonly target: Fields }[],
): FieldProblem[] {
  const names = new Map<string, string>();
  return targets.flatMap(({ path, target }) => {
    const {
      controlPlane,
      controlPlaneId = addressOf(controlPlane),
      tenantId,
      deployment,
      deploymentId = deployment,
    } = target;
    if (deploymentId === undefined) return [];
    const key = JSON.stringify([controlPlaneId, tenantId, deploymentId]);
    const other = names.get(key);
    names.set(key, other ?? path.join('.'));
    const field = deployment === undefined ? 'deploymentId' : 'deployment';
    const both = 'both names mean one target, with one queue and one history';
    return warn(path, field, other !== undefined && `is that of ${other}, too: ${both}`);
  });
}

function addressOf(url: unknown): unknown {
  return typeof url === 'string' && URL.canParse(url) ? canonicalAddress(url) : url;
}

function resourceProblem(field: string, isPublic: boolean): string | false {
  if (UNUSED_RESOURCES.includes(field)) return 'the control plane’s contract marks it "do not use"';
  if (RESOURCES.includes(field) || isPublic) return false;
  const near = nearestWord(field, RESOURCES);
  const suggestion = near === undefined ? '' : `; did you mean "${near}"?`;
  return `the control plane’s contract has no resource of this name${suggestion}`;
}

function artifactWarnings(artifact: Fields, sources: readonly unknown[]): FieldProblem[] {
  if (sources.length === 0) return [];
  const packs = sources.includes('internal_source');
  const builds = packs || sources.includes('repo_host');
  const idle = (fields: readonly string[], what: string): FieldProblem[] =>
    fields.flatMap((field) =>
      warn(
        ['artifact'],
        field,
        artifact[field] !== undefined && `has no effect: no target’s source is ${what}`,
      ),
    );
  return [
    ...(packs ? [] : idle(['path', 'ignore'], 'packed')),
    ...(builds ? [] : idle(['installCommand', 'buildCommand', 'graphConfig'], 'built')),
  ];
}

function stepWarnings(name: string, step: Fields): FieldProblem[] {
  const path = ['steps', name];
  const one = timeOf(step['startToClose']) ?? NaN;
  const all = timeOf(step['scheduleToClose']) ?? NaN;
  const silence = timeOf(step['heartbeat']) ?? NaN;
  const { maximumAttempts = 0 } = fieldsOf(step['retry']);
  const isBounded = POLLING_STEPS.includes(name) && maximumAttempts !== 0;
  const shorter = 'has no effect: scheduleToClose, the deadline of all attempts, is shorter';
  const longer = 'has no effect: startToClose, the deadline of the attempt, is not longer';
  const polls = 'has no effect: the step polls until its deadline. Set scheduleToClose instead';
  return [
    ...warn(path, 'startToClose', one > all && shorter),
    ...warn(path, 'heartbeat', silence >= one && longer),
    ...warn(path, ['retry', 'maximumAttempts'], isBounded && polls),
  ];
}

function promotionWarnings(path: readonly string[], promotion: Fields, hasChecks: boolean): FieldProblem[] {
  const { soak, bake, checkEvery } = promotion;
  const isIdle = checkEvery !== undefined && !isTime(bake) && !isTime(soak);
  return [
    ...warn(path, 'checkEvery', isIdle && 'has no effect: the promotion has neither soak nor bake'),
    ...warn(path, 'bake', isTime(bake) && !hasChecks && NO_CHECKS),
  ];
}

function notifyWarnings(receivers: unknown): FieldProblem[] {
  const message = 'has no effect: Slipway reports only releases to GitHub';
  return listOf(receivers).flatMap((receiver, index) => {
    const { kind, events } = fieldsOf(receiver);
    if (kind !== 'github_deployment' && kind !== 'github_status') return [];
    return listOf(events).flatMap((event, at) =>
      GITHUB_EVENTS.includes(event as string) ? [] : { path: ['notify', index, 'events', at], message },
    );
  });
}

function freezeWarnings(path: readonly string[], freezes: unknown, now: number): FieldProblem[] {
  return listOf(freezes).flatMap((freeze, index) => {
    const { until, timeZone = 'UTC' } = fieldsOf(freeze);
    const ends = typeof until === 'string' ? parseFreezeMoment(until) : undefined;
    if (ends?.kind !== 'once' || typeof timeZone !== 'string' || !isTimeZone(timeZone)) return [];
    if (instantOf(ends.at, timeZone, 'second') > now) return [];
    return { path: [...path, 'freezes', index, 'until'], message: 'has no effect: this time has passed' };
  });
}

function isTime(value: unknown): boolean {
  return (timeOf(value) ?? 0) > 0;
}

function timeOf(value: unknown): number | undefined {
  return typeof value === 'string' ? parseDuration(value) : undefined;
}

/** The fields of `resources` that the contract marks "do not use" (contract 000, "ResourceSpec"). */
export const UNUSED_RESOURCES: readonly string[] = ['orchestrator', 'executor'].flatMap((part) =>
  ['cpu', 'cpu_limit', 'memory_mb', 'memory_limit_mb', 'min_scale', 'max_scale']
    .filter((field) => part === 'orchestrator' || !field.endsWith('_scale'))
    .map((field) => `${part}_${field}`),
);

/** The fields of `resources` that have an effect (contract 000, "ResourceSpec"). */
export const RESOURCES: readonly string[] = [
  ...['min_scale', 'max_scale', 'cpu', 'cpu_limit', 'memory_mb', 'memory_limit_mb'],
  ...['queue_min_scale', 'queue_max_scale'],
  ...['queue_cpu', 'queue_cpu_limit', 'queue_memory_mb', 'queue_memory_limit_mb'],
  ...['cache_cpu', 'cache_cpu_limit', 'cache_memory_mb', 'cache_memory_limit_mb'],
  ...['labels', 'annotations', 'service_account_name', 'image_pull_secrets'],
  ...['volumes', 'volume_mounts', 'init_containers', 'sidecars'],
  ...['db_cpu', 'db_cpu_limit', 'db_memory_mb', 'db_memory_limit_mb', 'db_storage_gi', 'db_max_connections'],
];
