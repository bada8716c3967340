import { parseDuration } from '../domain/duration.ts';
import { parseFreezeMoment } from '../domain/freeze/freeze.ts';
import { instantOf, isTimeZone } from '../domain/freeze/zonedTime.ts';
import { GITHUB_EVENTS } from '../domain/notify/githubStates.ts';
import { POLLING_STEPS } from '../domain/stepTable.ts';
import type { FieldProblem } from './configProblem.ts';
import { nearestWord } from './nearestWord.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What is valid in a `slipway.yaml` but has no effect. Reads the raw file, so that errors elsewhere hide nothing. */
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

function targetWarnings(path: readonly string[], target: Fields, hasChecks: boolean): FieldProblem[] {
  const found: FieldProblem[] = [];
  const warn = (at: readonly string[], message: string): void => {
    found.push({ path: [...path, ...at], message, atKey: true });
  };
  const { source = 'internal_source', vocabulary, resources, soak } = target;
  if (resources !== undefined && source !== 'external_image') {
    warn(['resources'], 'has no effect: resources are only for source external_image');
  } else {
    for (const field of Object.keys(fieldsOf(resources))) {
      if (UNUSED_RESOURCES.includes(field)) {
        warn(['resources', field], 'the control plane’s contract marks it "do not use"');
      } else if (!RESOURCES.includes(field) && vocabulary !== 'public') {
        const near = nearestWord(field, RESOURCES);
        const suggestion = near === undefined ? '' : `; did you mean "${near}"?`;
        warn(['resources', field], `the control plane’s contract has no resource of this name${suggestion}`);
      }
    }
  }
  const onError = fieldsOf(target['onError']);
  if (onError['waitFor'] !== undefined && onError['then'] !== 'wait') {
    warn(['onError', 'waitFor'], 'has no effect unless then is "wait"');
  }
  if (isTime(soak) && !hasChecks) {
    warn(['soak'], 'there are no checks to repeat: the revision is only seen to serve');
  }
  return found;
}

function artifactWarnings(artifact: Fields, sources: readonly unknown[]): FieldProblem[] {
  if (sources.length === 0) return [];
  const packs = sources.includes('internal_source');
  const builds = packs || sources.includes('repo_host');
  const idle = (fields: readonly string[], what: string): FieldProblem[] =>
    fields
      .filter((field) => artifact[field] !== undefined)
      .map((field) => ({
        path: ['artifact', field],
        message: `has no effect: no target’s source is ${what}`,
        atKey: true,
      }));
  return [
    ...(packs ? [] : idle(['path', 'ignore'], 'packed')),
    ...(builds ? [] : idle(['installCommand', 'buildCommand', 'graphConfig'], 'built')),
  ];
}

function stepWarnings(name: string, step: Fields): FieldProblem[] {
  const path = ['steps', name];
  const [one, all, silence] = [step['startToClose'], step['scheduleToClose'], step['heartbeat']].map(timeOf);
  const found: FieldProblem[] = [];
  if (one !== undefined && all !== undefined && one > all) {
    const message = 'has no effect: scheduleToClose, the deadline of all attempts, is shorter';
    found.push({ path: [...path, 'startToClose'], message, atKey: true });
  }
  if (one !== undefined && silence !== undefined && silence >= one) {
    const message = 'has no effect: startToClose, the deadline of the attempt, is not longer';
    found.push({ path: [...path, 'heartbeat'], message, atKey: true });
  }
  const { maximumAttempts = 0 } = fieldsOf(step['retry']);
  if (POLLING_STEPS.includes(name) && maximumAttempts !== 0) {
    const message = 'has no effect: the step polls until its deadline. Set scheduleToClose instead';
    found.push({ path: [...path, 'retry', 'maximumAttempts'], message, atKey: true });
  }
  return found;
}

function promotionWarnings(path: readonly string[], promotion: Fields, hasChecks: boolean): FieldProblem[] {
  const { soak, bake, checkEvery } = promotion;
  const found: FieldProblem[] = [];
  if (checkEvery !== undefined && !isTime(bake) && !isTime(soak)) {
    const message = 'has no effect: the promotion has neither soak nor bake';
    found.push({ path: [...path, 'checkEvery'], message, atKey: true });
  }
  if (isTime(bake) && !hasChecks) {
    const message = 'there are no checks to repeat: the revision is only seen to serve';
    found.push({ path: [...path, 'bake'], message, atKey: true });
  }
  return found;
}

/** Events that a receiver on GitHub is never told of. */
function notifyWarnings(receivers: unknown): FieldProblem[] {
  if (!Array.isArray(receivers)) return [];
  const githubEvents: readonly unknown[] = GITHUB_EVENTS;
  return receivers.flatMap((receiver, index): FieldProblem[] => {
    const { kind, events } = fieldsOf(receiver);
    if ((kind !== 'github_deployment' && kind !== 'github_status') || !Array.isArray(events)) return [];
    return events.flatMap((event, at): FieldProblem[] =>
      githubEvents.includes(event)
        ? []
        : [
            {
              path: ['notify', index, 'events', at],
              message: 'has no effect: Slipway reports only releases to GitHub',
            },
          ],
    );
  });
}

/** Freezes for once that have passed. */
function freezeWarnings(path: readonly string[], freezes: unknown, now: number): FieldProblem[] {
  if (!Array.isArray(freezes)) return [];
  return freezes.flatMap((freeze, index): FieldProblem[] => {
    const { until, timeZone = 'UTC' } = fieldsOf(freeze);
    const ends = typeof until === 'string' ? parseFreezeMoment(until) : undefined;
    if (ends?.kind !== 'once' || typeof timeZone !== 'string' || !isTimeZone(timeZone)) return [];
    if (instantOf(ends.at, timeZone, 'second') > now) return [];
    return [{ path: [...path, 'freezes', index, 'until'], message: 'has no effect: this time has passed' }];
  });
}

function isTime(value: unknown): boolean {
  return (timeOf(value) ?? 0) > 0;
}

function timeOf(value: unknown): number | undefined {
  return typeof value === 'string' ? parseDuration(value) : undefined;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
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
