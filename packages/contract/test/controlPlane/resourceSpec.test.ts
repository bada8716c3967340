import { describe, expect, it } from 'vitest';

import {
  Container,
  EnvVar,
  LocalObjectReference,
  ResourceSpec,
  Volume,
  VolumeMount,
  withResourceDefaults,
} from '../../src/controlPlane/resourceSpec.ts';
import { expectAccepted, expectRefused, issuesOf, placesOf } from '../checking.ts';

/** Contract 000, "Limits". */
const BOUNDS: [string, number, number][] = [
  ['cpu', 0.1, 8],
  ['queue_cpu', 0.1, 8],
  ['cache_cpu', 0.1, 8],
  ['cpu_limit', 0.1, 16],
  ['queue_cpu_limit', 0.1, 16],
  ['cache_cpu_limit', 0.1, 16],
];
const UNBOUNDED_CPUS = [
  'orchestrator_cpu',
  'orchestrator_cpu_limit',
  'executor_cpu',
  'executor_cpu_limit',
  'db_cpu',
  'db_cpu_limit',
];
const INTEGERS = [
  'min_scale',
  'max_scale',
  'memory_mb',
  'memory_limit_mb',
  'queue_min_scale',
  'queue_max_scale',
  'queue_memory_mb',
  'queue_memory_limit_mb',
  'orchestrator_memory_mb',
  'orchestrator_memory_limit_mb',
  'orchestrator_min_scale',
  'orchestrator_max_scale',
  'executor_memory_mb',
  'executor_memory_limit_mb',
  'cache_memory_mb',
  'cache_memory_limit_mb',
  'db_memory_mb',
  'db_memory_limit_mb',
  'db_storage_gi',
  'db_max_connections',
];
const OTHERS: [string, unknown, unknown][] = [
  ['labels', { team: 'agents' }, { team: 1 }],
  ['annotations', { note: 'x' }, { note: [] }],
  ['service_account_name', 'runner', ''],
  ['image_pull_secrets', [{ name: 'pull' }], [{}]],
  ['volumes', [{ name: 'data' }], [{ name: 'Not A Label' }]],
  ['volume_mounts', [], [{ name: 'data', mountPath: '' }]],
  ['init_containers', [{ name: 'init', image: 'busybox' }], [{ name: 'init' }]],
  ['sidecars', [{ name: 'side', image: 'proxy' }], [{ image: 'proxy' }]],
];

describe('Contract 000, ResourceSpec: fields', () => {
  it('are exactly these', () => {
    const names = [...BOUNDS, ...OTHERS].map(([name]) => name);
    expect(Object.keys(ResourceSpec.shape).sort()).toEqual([...names, ...UNBOUNDED_CPUS, ...INTEGERS].sort());
  });

  it.each(Object.keys(ResourceSpec.shape))('%s is nullable and optional', (field) => {
    expectAccepted(ResourceSpec, {});
    expectAccepted(ResourceSpec, { [field]: null });
  });

  it.each(BOUNDS)('%s is from %d to %d', (field, min, max) => {
    expectAccepted(ResourceSpec, { [field]: min });
    expectAccepted(ResourceSpec, { [field]: max });
    expectRefused(ResourceSpec, { [field]: min - 0.01 }, `body.${field}`, 'greater_than_equal');
    expectRefused(ResourceSpec, { [field]: max + 0.01 }, `body.${field}`, 'less_than_equal');
    expectRefused(ResourceSpec, { [field]: '1' }, `body.${field}`, 'number_type');
  });

  it.each([...BOUNDS.map(([name]) => name), ...UNBOUNDED_CPUS])(
    '%s is rounded to one decimal place',
    (field) => {
      for (const [given, kept] of [
        [1, 1],
        [0.14, 0.1],
        [0.15, 0.2],
        [1.25, 1.3],
        [2.349, 2.3],
        [7.96, 8],
      ]) {
        expect(ResourceSpec.parse({ [field]: given })).toEqual({ [field]: kept });
      }
    },
  );

  it.each(UNBOUNDED_CPUS)('%s has no bound but zero', (field) => {
    expectAccepted(ResourceSpec, { [field]: 64 });
    expectRefused(ResourceSpec, { [field]: -1 }, `body.${field}`);
  });

  it.each(INTEGERS)('%s is an integer', (field) => {
    expectAccepted(ResourceSpec, { [field]: 0 });
    expectAccepted(ResourceSpec, { [field]: 2_147_483_647 });
    expectRefused(ResourceSpec, { [field]: 1.5 }, `body.${field}`, 'integer_type');
    expectRefused(ResourceSpec, { [field]: -1 }, `body.${field}`);
    expectRefused(ResourceSpec, { [field]: 2_147_483_648 }, `body.${field}`);
    expectRefused(ResourceSpec, { [field]: '2' }, `body.${field}`, 'number_type');
  });

  it.each(OTHERS)('%s has its own type', (field, right, wrong) => {
    expectAccepted(ResourceSpec, { [field]: right });
    expect(placesOf(ResourceSpec, { [field]: wrong })[0]).toMatch(new RegExp(`^body\\.${field}(\\.|$)`, 'u'));
  });
});

describe('Contract 000, ResourceSpec: defaults', () => {
  it.each([
    ['cpu_limit', { cpu: 1.3 }, 2.6],
    ['memory_limit_mb', { memory_mb: 1024 }, 2048],
    ['queue_min_scale', { min_scale: 2 }, 2],
    ['queue_max_scale', { max_scale: 5 }, 5],
    ['queue_cpu', { cpu: 0.7 }, 0.7],
    ['queue_cpu_limit', { queue_cpu: 0.3 }, 0.6],
    ['queue_cpu_limit', { cpu: 2 }, 4],
    ['queue_memory_mb', { memory_mb: 512 }, 512],
    ['queue_memory_limit_mb', { queue_memory_mb: 100 }, 200],
    ['queue_memory_limit_mb', { memory_mb: 512 }, 1024],
    ['cache_cpu_limit', { cache_cpu: 8 }, 16],
    ['cache_memory_limit_mb', { cache_memory_mb: 256 }, 256],
    ['db_cpu_limit', { db_cpu: 3 }, 6],
    ['db_memory_limit_mb', { db_memory_mb: 300 }, 600],
  ])('%s comes from %j', (field, spec, value) => {
    expect(withResourceDefaults(ResourceSpec.parse(spec))).toMatchObject({ [field]: value });
    expect(withResourceDefaults(ResourceSpec.parse({ ...spec, [field]: null }))).toMatchObject({
      [field]: value,
    });
  });

  it('never go over a field that is set', () => {
    const spec = ResourceSpec.parse({ cpu: 2, cpu_limit: 2, queue_cpu: 1, min_scale: 1, queue_min_scale: 0 });
    expect(withResourceDefaults(spec)).toMatchObject({
      cpu_limit: 2,
      queue_cpu: 1,
      queue_cpu_limit: 2,
      queue_min_scale: 0,
    });
  });

  it('of what is not set is not set', () => {
    expect(withResourceDefaults({})).toEqual({});
    expect(withResourceDefaults({ orchestrator_cpu: 1, executor_memory_mb: 1 })).toEqual({
      orchestrator_cpu: 1,
      executor_memory_mb: 1,
    });
  });

  it('stay within the bounds of their fields', () => {
    for (const cpu of [0.1, 8]) {
      expectAccepted(ResourceSpec, withResourceDefaults({ cpu, queue_cpu: cpu, cache_cpu: cpu }));
    }
  });

  it('leave the spec that they are asked of as it was', () => {
    const spec = Object.freeze({ cpu: 1 });
    expect(withResourceDefaults(spec)).not.toBe(spec);
    expect(spec).toEqual({ cpu: 1 });
  });
});

describe('Contract 000, ResourceSpec: volumes', () => {
  const volumes = [{ name: 'data' }, { name: 'cache' }];
  const container = (name: string) => ({
    name: 'side',
    image: 'x',
    volumeMounts: [{ name, mountPath: '/data' }],
  });

  it('have names that are unique in the pod', () => {
    expectRefused(
      ResourceSpec,
      { volumes: [...volumes, { name: 'data' }] },
      'body.volumes.2.name',
      'duplicate',
    );
  });

  it.each(['volume_mounts', 'init_containers', 'sidecars'])('are what %s mount', (field) => {
    const mounting = (name: string) =>
      field === 'volume_mounts' ? { name, mountPath: '/data' } : container(name);
    const place = field === 'volume_mounts' ? `${field}.1.name` : `${field}.1.volumeMounts.0.name`;
    expectAccepted(ResourceSpec, { volumes, [field]: [mounting('data'), mounting('cache')] });
    const unknown = { volumes, [field]: [mounting('data'), mounting('other')] };
    expectRefused(ResourceSpec, unknown, `body.${place}`, 'volume_unknown');
    expectRefused(
      ResourceSpec,
      { [field]: [], volumes: [{ name: 'x' }, { name: 'x' }] },
      'body.volumes.1.name',
    );
  });
});

describe('Contract 000, nested types', () => {
  it('LocalObjectReference: name, required', () => {
    expectAccepted(LocalObjectReference, { name: 'pull' });
    expectRefused(LocalObjectReference, {}, 'body.name', 'missing');
  });

  it('Volume: name, required, a DNS label', () => {
    expectRefused(Volume, {}, 'body.name', 'missing');
    for (const name of ['Data', 'a_b', '-a', '', 'a'.repeat(64)])
      expectRefused(Volume, { name }, 'body.name');
  });

  it.each([
    'configMap',
    'secret',
    'emptyDir',
    'persistentVolumeClaim',
    'nfs',
    'projected',
    'downwardAPI',
    'csi',
  ])('Volume: %s, an optional nullable object', (field) => {
    for (const value of [undefined, null, {}, { any: { thing: [1] } }]) {
      expectAccepted(Volume, { name: 'a', [field]: value });
    }
    expectRefused(Volume, { name: 'a', [field]: 'x' }, `body.${field}`, 'object_type');
  });

  it('VolumeMount: name and mountPath, required', () => {
    expect(placesOf(VolumeMount, {})).toEqual(['body.name', 'body.mountPath']);
  });

  it.each([
    ['subPath', 'a', 1],
    ['mountPropagation', 'None', true],
    ['readOnly', true, 'true'],
    ['subPathExpr', '$(A)', {}],
  ])('VolumeMount: %s, optional', (field, right, wrong) => {
    const mount = { name: 'a', mountPath: '/a' };
    expectAccepted(VolumeMount, { ...mount, [field]: right });
    expectAccepted(VolumeMount, { ...mount, [field]: null });
    expectRefused(VolumeMount, { ...mount, [field]: wrong }, `body.${field}`);
  });

  it('Container: name, a DNS label, and image, required', () => {
    expect(placesOf(Container, {})).toEqual(['body.name', 'body.image']);
    expectRefused(Container, { name: 'Side', image: 'x' }, 'body.name');
    expectRefused(Container, { name: 'side', image: '' }, 'body.image');
  });

  it.each([
    ['imagePullPolicy', ['Always', 'Never', 'IfNotPresent'], ['always', '', 1]],
    ['restartPolicy', ['Always', 'OnFailure'], ['Never', 'always']],
    ['command', [[], ['sh', '-c', 'x']], ['sh', [1]]],
    ['args', [['a']], ['a']],
    ['workingDir', ['/app'], [1]],
    ['env', [[{ name: 'A' }]], [[{ name: '1A' }], {}]],
    ['envFrom', [[{ configMapRef: { name: 'a' } }]], [['a'], {}]],
    ['resources', [{}, { limits: { cpu: '1' }, requests: null }], [{ limits: { cpu: 1 } }, 'x']],
    ['volumeMounts', [[{ name: 'a', mountPath: '/a' }]], [[{ name: 'a' }]]],
    ['securityContext', [{ runAsUser: 1 }], ['root']],
  ])('Container: %s, optional', (field, right, wrong) => {
    const container = { name: 'side', image: 'x' };
    for (const value of [undefined, null, ...right])
      expectAccepted(Container, { ...container, [field]: value });
    for (const value of wrong) {
      expect(placesOf(Container, { ...container, [field]: value })[0]).toMatch(
        new RegExp(`^body\\.${field}`, 'u'),
      );
    }
  });

  it('EnvVar: name, required, in identifier form', () => {
    expectRefused(EnvVar, {}, 'body.name', 'missing');
    for (const name of ['1A', 'A-B', 'A.B', '', 'Ä']) expectRefused(EnvVar, { name }, 'body.name');
  });

  it('EnvVar: value, empty by default', () => {
    expect(EnvVar.parse({ name: 'A' })).toEqual({ name: 'A', value: '' });
    expect(EnvVar.parse({ name: 'A', value: null })).toEqual({ name: 'A', value: '' });
  });

  it('EnvVar: valueFrom, not with a value that is not empty', () => {
    const valueFrom = { fieldRef: { fieldPath: 'status.podIP' } };
    expectAccepted(EnvVar, { name: 'A', valueFrom });
    expectAccepted(EnvVar, { name: 'A', value: '', valueFrom });
    expectAccepted(EnvVar, { name: 'A', value: 'x', valueFrom: null });
    expectRefused(EnvVar, { name: 'A', value: 'x', valueFrom }, 'body.valueFrom', 'value_and_value_from');
    const deep = {
      init_containers: [{ name: 'a', image: 'b', env: [{ name: 'A', value: 'x', valueFrom }] }],
    };
    expect(issuesOf(ResourceSpec, deep)[0]?.loc).toEqual([
      'body',
      'init_containers',
      0,
      'env',
      0,
      'valueFrom',
    ]);
  });
});
