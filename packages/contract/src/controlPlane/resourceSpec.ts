import { z } from 'zod';

import {
  ANNOTATION_MAX,
  CPU_LIMIT,
  CPU_REQUEST,
  INTEGER_MAX,
  LIST_MAX,
  NAME_MAX,
  SECRET_VALUE_MAX_BYTES,
} from '../limits.ts';
import { refuse } from '../httpErrors.ts';
import {
  DnsLabel,
  entryByEntry,
  Identifier,
  integer,
  nonEmptyText,
  oneOf,
  StorableObject,
  text,
} from '../scalars.ts';

/* Contract 000, "Nested types used by ResourceSpec". Optional fields are nullable too, as in the public API. */

/** A reference to an object of the same namespace. */
export const LocalObjectReference = z.object({ name: nonEmptyText(NAME_MAX) });

/** A volume of the pod. Its name is a DNS label and unique in the pod (the list checks that). */
export const Volume = z.object({
  name: DnsLabel,
  configMap: StorableObject.nullish(),
  secret: StorableObject.nullish(),
  emptyDir: StorableObject.nullish(),
  persistentVolumeClaim: StorableObject.nullish(),
  nfs: StorableObject.nullish(),
  projected: StorableObject.nullish(),
  downwardAPI: StorableObject.nullish(),
  csi: StorableObject.nullish(),
});

/** Where a volume is mounted. Its name must match a {@link Volume} (the ResourceSpec checks that). */
export const VolumeMount = z.object({
  name: nonEmptyText(NAME_MAX),
  mountPath: nonEmptyText(),
  subPath: text().nullish(),
  mountPropagation: text().nullish(),
  readOnly: z.boolean().nullish(),
  subPathExpr: text().nullish(),
});
export type VolumeMount = z.infer<typeof VolumeMount>;

/** An environment variable of a container. `value` defaults to empty; `valueFrom` needs it empty. */
export const EnvVar = z
  .object({
    name: Identifier,
    value: text(SECRET_VALUE_MAX_BYTES)
      .nullish()
      .transform((value) => value ?? ''),
    valueFrom: StorableObject.nullish(),
  })
  .superRefine((variable, context) => {
    if (variable.value === '' || variable.valueFrom == null) return;
    const message = 'valueFrom cannot be used when value is not empty';
    refuse(context, ['valueFrom'], message, 'value_and_value_from');
  });

/** The resource limits and requests of a container, in the cluster's own notation. */
export const ResourceRequirements = z.object({
  limits: z.record(text(), text()).nullish(),
  requests: z.record(text(), text()).nullish(),
});

const ImagePullPolicy = oneOf(['Always', 'Never', 'IfNotPresent']);

const RestartPolicy = oneOf(['Always', 'OnFailure']);

/** An init container or a sidecar. */
export const Container = z.object({
  name: DnsLabel,
  image: nonEmptyText(),
  imagePullPolicy: ImagePullPolicy.nullish(),
  command: z.array(text()).max(LIST_MAX).nullish(),
  args: z.array(text()).max(LIST_MAX).nullish(),
  workingDir: text().nullish(),
  env: z.array(EnvVar).max(LIST_MAX).nullish(),
  envFrom: z.array(StorableObject).max(LIST_MAX).nullish(),
  resources: ResourceRequirements.nullish(),
  volumeMounts: z.array(VolumeMount).max(LIST_MAX).nullish(),
  securityContext: StorableObject.nullish(),
  restartPolicy: RestartPolicy.nullish(),
});

/**
 * Cores, rounded to one decimal place (contract 000, "Limits"). Decision: the bounds apply before rounding, so 0.06
 * and 8.04 are refused although they round to allowed values. A value within the bounds stays within them after
 * rounding.
 */
function cores({ min, max }: { min: number; max: number }) {
  return z.number().min(min).max(max).transform(roundToOneDecimal).nullish();
}

/** Cores without bounds in the contract. Decision: not negative, and at most the largest count. */
const unboundedCores = () => z.number().min(0).max(INTEGER_MAX).transform(roundToOneDecimal).nullish();
const count = () => integer().nullish();
const megabytes = () => integer().nullish();

/**
 * The resources of an `external_image` deployment (contract 000, "ResourceSpec"). Every field is nullable and
 * optional; CPU in cores, memory in MB. Decisions: integers are not negative ("bounds on scale and memory values: not
 * shown"). The cluster judges a minimum above its maximum and a limit below its request, because the contract has no
 * rule. Fields "marked do not use" are accepted and stored, without bounds and defaults.
 */
export const ResourceSpec = z
  .object({
    min_scale: count(),
    max_scale: count(),
    cpu: cores(CPU_REQUEST),
    cpu_limit: cores(CPU_LIMIT),
    memory_mb: megabytes(),
    memory_limit_mb: megabytes(),
    queue_min_scale: count(),
    queue_max_scale: count(),
    queue_cpu: cores(CPU_REQUEST),
    queue_cpu_limit: cores(CPU_LIMIT),
    queue_memory_mb: megabytes(),
    queue_memory_limit_mb: megabytes(),
    orchestrator_cpu: unboundedCores(),
    orchestrator_cpu_limit: unboundedCores(),
    orchestrator_memory_mb: megabytes(),
    orchestrator_memory_limit_mb: megabytes(),
    orchestrator_min_scale: count(),
    orchestrator_max_scale: count(),
    executor_cpu: unboundedCores(),
    executor_cpu_limit: unboundedCores(),
    executor_memory_mb: megabytes(),
    executor_memory_limit_mb: megabytes(),
    cache_cpu: cores(CPU_REQUEST),
    cache_cpu_limit: cores(CPU_LIMIT),
    cache_memory_mb: megabytes(),
    cache_memory_limit_mb: megabytes(),
    labels: z.record(text(), text()).nullish(),
    annotations: z.record(text(), text(ANNOTATION_MAX)).nullish(),
    service_account_name: nonEmptyText(NAME_MAX).nullish(),
    image_pull_secrets: z.array(LocalObjectReference).max(LIST_MAX).nullish(),
    volumes: z.array(Volume).max(LIST_MAX).nullish(),
    volume_mounts: z.array(VolumeMount).max(LIST_MAX).nullish(),
    init_containers: entryByEntry(z.array(Container).max(LIST_MAX)).nullish(),
    sidecars: entryByEntry(z.array(Container).max(LIST_MAX)).nullish(),
    db_cpu: unboundedCores(),
    db_cpu_limit: unboundedCores(),
    db_memory_mb: megabytes(),
    db_memory_limit_mb: megabytes(),
    db_storage_gi: integer().nullish(),
    db_max_connections: integer().nullish(),
  })
  .superRefine(checkVolumes);
export type ResourceSpec = z.infer<typeof ResourceSpec>;

/**
 * Fills in every default that the table computes from other fields (contract 000, "ResourceSpec", column "Bounds /
 * default"). A default stays unset if its source is unset. No default exceeds the bounds of a request, so that an
 * answer can be sent back. The input is not changed.
 */
export function withResourceDefaults(spec: ResourceSpec): ResourceSpec {
  const filled: ResourceSpec = { ...spec };
  for (const [field, from, factor] of DEFAULTS) {
    const source = filled[from];
    if (filled[field] == null && source != null) filled[field] = Math.min(source * factor, INTEGER_MAX);
  }
  return filled;
}

/** In this order: `queue_cpu_limit` doubles `queue_cpu`, which may itself come from `cpu`. */
const DEFAULTS = [
  ['cpu_limit', 'cpu', 2],
  ['memory_limit_mb', 'memory_mb', 2],
  ['queue_min_scale', 'min_scale', 1],
  ['queue_max_scale', 'max_scale', 1],
  ['queue_cpu', 'cpu', 1],
  ['queue_cpu_limit', 'queue_cpu', 2],
  ['queue_memory_mb', 'memory_mb', 1],
  ['queue_memory_limit_mb', 'queue_memory_mb', 2],
  ['cache_cpu_limit', 'cache_cpu', 2],
  ['cache_memory_limit_mb', 'cache_memory_mb', 1],
  ['db_cpu_limit', 'db_cpu', 2],
  ['db_memory_limit_mb', 'db_memory_mb', 2],
] as const satisfies readonly (readonly [keyof ResourceSpec, keyof ResourceSpec, number])[];

function roundToOneDecimal(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Volume names are unique in the pod, and every mount names one of them. */
function checkVolumes(spec: ResourceSpec, context: z.RefinementCtx): void {
  const names = new Set<string>();
  for (const [index, volume] of (spec.volumes ?? []).entries()) {
    if (names.has(volume.name)) {
      refuse(context, ['volumes', index, 'name'], 'Volume names are unique in the pod', 'duplicate');
    }
    names.add(volume.name);
  }
  const checkMounts = (mounts: VolumeMount[] | null | undefined, path: (string | number)[]): void => {
    for (const [index, mount] of (mounts ?? []).entries()) {
      if (names.has(mount.name)) continue;
      refuse(context, [...path, index, 'name'], 'The name must match a volume', 'volume_unknown');
    }
  };
  checkMounts(spec.volume_mounts, ['volume_mounts']);
  for (const field of ['init_containers', 'sidecars'] as const) {
    for (const [index, container] of (spec[field] ?? []).entries()) {
      checkMounts(container.volumeMounts, [field, index, 'volumeMounts']);
    }
  }
}
