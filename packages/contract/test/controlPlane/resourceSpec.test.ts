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
const UNBOUNDED_CPUS = ['orchestrator', 'executor', 'db'].flatMap((part) => [
  `${part}_cpu`,
  `${part}_cpu_limit`,
]);
const INTEGERS = [
  ...['', 'queue_', 'orchestrator_'].flatMap((part) => [`${part}min_scale`, `${part}max_scale`]),
  ...['', 'queue_', 'orchestrator_', 'executor_', 'cache_', 'db_'].flatMap((part) => [
    `${part}memory_mb`,
    `${part}memory_limit_mb`,
  ]),
  'db_storage_gi',
  'db_max_connections',
];

describe('Contract 000, ResourceSpec: fields', () => {
  it('are all nullable and optional', () => {
    expectAccepted(ResourceSpec, {});
    for (const field of Object.keys(ResourceSpec.shape)) expectAccepted(ResourceSpec, { [field]: null });
  });

  it.each(BOUNDS)('%s is from %d to %d', (field, min, max) => {
    expectAccepted(ResourceSpec, { [field]: min });
    expectAccepted(ResourceSpec, { [field]: max });
    expectRefused(ResourceSpec, { [field]: min - 0.01 }, `body.${field}`, 'greater_than_equal');
    expectRefused(ResourceSpec, { [field]: max + 0.01 }, `body.${field}`, 'less_than_equal');
  });

  it.each(UNBOUNDED_CPUS)('%s has no bound except zero', (field) => {
    expectAccepted(ResourceSpec, { [field]: 64 });
    expectRefused(ResourceSpec, { [field]: -1 }, `body.${field}`);
  });

  it.each([...BOUNDS.map(([name]) => name), ...UNBOUNDED_CPUS])(
    '%s is rounded to one decimal place',
    (field) => {
      for (const [given, kept] of [
        [0.14, 0.1],
        [0.15, 0.2],
        [1.25, 1.3],
        [7.96, 8],
      ]) {
        expect(ResourceSpec.parse({ [field]: given })).toEqual({ [field]: kept });
      }
    },
  );

  it.each(INTEGERS)('%s is a non-negative integer', (field) => {
    for (const right of [0, 2_147_483_647]) expectAccepted(ResourceSpec, { [field]: right });
    for (const wrong of [1.5, -1, 2_147_483_648]) {
      expectRefused(ResourceSpec, { [field]: wrong }, `body.${field}`);
    }
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
  ])('%s defaults to values from %j', (field, spec, value) => {
    expect(withResourceDefaults(ResourceSpec.parse(spec))).toMatchObject({ [field]: value });
    expect(withResourceDefaults(ResourceSpec.parse({ ...spec, [field]: null }))).toMatchObject({
      [field]: value,
    });
  });

  it('never overwrite a field that is set', () => {
    const spec = ResourceSpec.parse({ cpu: 2, cpu_limit: 2, queue_cpu: 1, min_scale: 1, queue_min_scale: 0 });
    expect(withResourceDefaults(spec)).toMatchObject({
      cpu_limit: 2,
      queue_cpu: 1,
      queue_cpu_limit: 2,
      queue_min_scale: 0,
    });
  });

  it('of an absent field’s default stay absent', () => {
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

  it('do not change the given spec', () => {
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

  it.each(['volume_mounts', 'init_containers', 'sidecars'])('must exist for each of %s', (field) => {
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
  it('have required names', () => {
    expect(placesOf(LocalObjectReference, {})).toEqual(['body.name']);
    expect(placesOf(Volume, {})).toEqual(['body.name']);
    expect(placesOf(VolumeMount, {})).toEqual(['body.name', 'body.mountPath']);
    expect(placesOf(Container, {})).toEqual(['body.name', 'body.image']);
    expect(placesOf(EnvVar, {})).toEqual(['body.name']);
  });

  it('have names in the form that the contract gives', () => {
    expectRefused(Volume, { name: 'Data' }, 'body.name');
    expectRefused(Container, { name: 'Side', image: 'x' }, 'body.name');
    expectRefused(EnvVar, { name: 'A-B' }, 'body.name');
  });

  it.each([
    ['imagePullPolicy', ['Always', 'Never', 'IfNotPresent'], 'always'],
    ['restartPolicy', ['Always', 'OnFailure'], 'Never'],
  ])('Container: %s accepts only the contract’s values', (field, words, wrong) => {
    const container = { name: 'side', image: 'x' };
    for (const word of [...words, null]) expectAccepted(Container, { ...container, [field]: word });
    expectRefused(Container, { ...container, [field]: wrong }, `body.${field}`, 'enum');
  });

  it('EnvVar: value, empty by default', () => {
    expect(EnvVar.parse({ name: 'A' })).toEqual({ name: 'A', value: '' });
    expect(EnvVar.parse({ name: 'A', value: null })).toEqual({ name: 'A', value: '' });
  });

  it('EnvVar: valueFrom is rejected beside a non-empty value', () => {
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
