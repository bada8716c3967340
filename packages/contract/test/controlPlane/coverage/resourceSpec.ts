import { type Held, inFile, type Row, section } from './row.ts';
import * as held from './tests.ts';

const spec = inFile('contract/test/controlPlane/resourceSpec.test.ts');
const NULLABLE = spec('%s is nullable and optional');
const BOUNDED = spec('%s is from %d to %d');
const ROUNDED = spec('%s is rounded to one decimal place');
const UNBOUNDED = spec('%s has no bound but zero');
const INTEGER = spec('%s is an integer');
const OWN_TYPE = spec('%s has its own type');
const DEFAULT = spec('%s comes from %j');
const MOUNTED = spec('are what %s mount');
const VOLUME_SOURCE = spec('Volume: %s, an optional nullable object');
const MOUNT_FIELD = spec('VolumeMount: %s, optional');
const CONTAINER_FIELD = spec('Container: %s, optional');

const cores = (row: string): [string, ...Held[]] => [row, BOUNDED(row), ROUNDED(row)];
const coresWithDefault = (row: string): [string, ...Held[]] => [...cores(row), DEFAULT(row)];
/** A row of several fields is held by the case of each. */
const each = (row: string, ...tests: ((word?: string) => Held)[]): [string, ...Held[]] => [
  row,
  ...row.split(', ').flatMap((field) => tests.map((test) => test(field))),
];

/** Contract 000, "ResourceSpec" and "Nested types used by ResourceSpec". */
export const RESOURCE_SPEC_ROWS: readonly Row[] = [
  ...section('ResourceSpec', [
    each('min_scale, max_scale', INTEGER),
    cores('cpu'),
    coresWithDefault('cpu_limit'),
    each('memory_mb', INTEGER),
    each('memory_limit_mb', INTEGER, DEFAULT),
    each('queue_min_scale, queue_max_scale', INTEGER, DEFAULT),
    coresWithDefault('queue_cpu'),
    coresWithDefault('queue_cpu_limit'),
    each('queue_memory_mb', INTEGER, DEFAULT),
    each('queue_memory_limit_mb', INTEGER, DEFAULT),
    each('orchestrator_cpu, orchestrator_cpu_limit', UNBOUNDED),
    each('orchestrator_memory_mb, orchestrator_memory_limit_mb', INTEGER),
    each('orchestrator_min_scale, orchestrator_max_scale', INTEGER),
    each('executor_cpu, executor_cpu_limit', UNBOUNDED),
    each('executor_memory_mb, executor_memory_limit_mb', INTEGER),
    cores('cache_cpu'),
    coresWithDefault('cache_cpu_limit'),
    each('cache_memory_mb', INTEGER),
    each('cache_memory_limit_mb', INTEGER, DEFAULT),
    each('labels', OWN_TYPE),
    each('annotations', OWN_TYPE),
    each('service_account_name', OWN_TYPE),
    each('image_pull_secrets', OWN_TYPE),
    [...each('volumes', OWN_TYPE), spec('have names that are unique in the pod')()],
    each('volume_mounts', OWN_TYPE, MOUNTED),
    each('init_containers', OWN_TYPE, MOUNTED),
    each('sidecars', OWN_TYPE, MOUNTED),
    each('db_cpu', UNBOUNDED),
    each('db_cpu_limit', UNBOUNDED, DEFAULT),
    each('db_memory_mb', INTEGER),
    each('db_memory_limit_mb', INTEGER, DEFAULT),
    each('db_storage_gi', INTEGER),
    each('db_max_connections', INTEGER),
  ]),
  ...section('ResourceSpec: rules', [
    [
      'only for external_image',
      held.CREATED_BY_SOURCE('source_config.resource_spec'),
      held.PATCHED_BY_SOURCE('source_config.resource_spec'),
    ],
    [
      'on PATCH, a non-null value creates a revision and overwrites the existing one',
      held.NEW_REVISION('source_config.resource_spec'),
      inFile('platform/test/controlPlane/listeners.test.ts')('is overwritten whole by a PATCH')(),
    ],
    ['every field is nullable and optional', NULLABLE(), spec('are exactly these')()],
    ['cores are rounded to one decimal place', ROUNDED()],
    [
      'defaults are computed from the other fields',
      spec('never go over a field that is set')(),
      inFile('platform/test/controlPlane/listeners.test.ts')(
        'is stored as it was sent, and answered with the defaults of its table',
      )(),
    ],
  ]),
  ...section('LocalObjectReference', [['name', spec('LocalObjectReference: name, required')()]]),
  ...section('Volume', [
    ['name', spec('Volume: name, required, a DNS label')(), spec('have names that are unique in the pod')()],
    ...['configMap', 'secret', 'emptyDir', 'persistentVolumeClaim'].map((row) => each(row, VOLUME_SOURCE)),
    ...['nfs', 'projected', 'downwardAPI', 'csi'].map((row) => each(row, VOLUME_SOURCE)),
  ]),
  ...section('VolumeMount', [
    ['name', spec('VolumeMount: name and mountPath, required')(), MOUNTED('volume_mounts')],
    ['mountPath', spec('VolumeMount: name and mountPath, required')()],
    ...['subPath', 'mountPropagation', 'readOnly', 'subPathExpr'].map((row) => each(row, MOUNT_FIELD)),
  ]),
  ...section('Container', [
    ['name', spec('Container: name, a DNS label, and image, required')()],
    ['image', spec('Container: name, a DNS label, and image, required')()],
    ...['imagePullPolicy', 'command', 'args', 'workingDir', 'env'].map((row) => each(row, CONTAINER_FIELD)),
    ...['envFrom', 'resources', 'volumeMounts', 'securityContext', 'restartPolicy'].map((row) =>
      each(row, CONTAINER_FIELD),
    ),
  ]),
  ...section('EnvVar', [
    ['name', spec('EnvVar: name, required, in identifier form')()],
    ['value', spec('EnvVar: value, empty by default')()],
    ['valueFrom', spec('EnvVar: valueFrom, not with a value that is not empty')()],
  ]),
  ...section('ResourceRequirements', [
    ['limits', CONTAINER_FIELD('limits')],
    ['requests', CONTAINER_FIELD('requests')],
  ]),
];
