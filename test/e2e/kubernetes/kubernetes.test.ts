import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';

import { eventually } from '../stack.ts';
import { Cluster, whyNoCluster } from './cluster.ts';

const CHART = fileURLToPath(new URL('../../../deploy/helm/slipway', import.meta.url));
const NAMESPACE = 'releases';
/** A helm that was built by Go takes Kubernetes for an old version where it does not ask the API server. */
const VERSION = ['--kube-version', '1.34.4'];
const DIGEST = `sha256:${'a'.repeat(64)}`;

/** What everybody must set, and nothing else. */
const LEAST = { dashboard: { url: 'https://slipway.example.com', secret: 'page' } };
/** Every value of the chart that is off or empty by default. */
const EVERYTHING = {
  image: { repository: 'registry.example.com/slipway', digest: DIGEST, pullPolicy: 'Always' },
  imagePullSecrets: [{ name: 'registry' }],
  temporal: {
    address: 'temporal.example.com:7233',
    namespace: 'releases',
    env: { TEMPORAL_TLS_SERVER_NAME: 'temporal.example.com' },
  },
  env: { SLIPWAY_ARTIFACT_STORE: 's3://releases', AWS_REGION: 'eu-central-1' },
  workerSecrets: ['worker'],
  secretOrigins: { 'env:SLIPWAY_API_KEY': ['https://control-plane.example.com'] },
  serviceAccount: { annotations: { 'example.com/role': 'artifacts' } },
  worker: { replicas: 3 },
  dashboard: { ...LEAST.dashboard, replicas: 2 },
  hooks: { enabled: true, secret: 'hooks', source: { configMap: { name: 'slipway-yaml' } } },
  codec: { enabled: true, secret: 'codec', origins: ['https://temporal.example.com'] },
  platform: {
    enabled: true,
    url: 'https://platform.example.com',
    secret: 'platform',
    storage: '5Gi',
    storageClassName: 'manual',
  },
  networkPolicy: { metricsFrom: { team: 'metrics' }, clientsFrom: { team: 'releases' } },
};

interface Deployment {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas: number;
    readonly template: { readonly spec: { readonly containers: readonly [{ readonly image: string }] } };
  };
  readonly status: { readonly availableReplicas?: number; readonly updatedReplicas?: number };
}
interface Listed<T> {
  readonly items: readonly T[];
}
interface Pod {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly nodeName?: string };
}

const missing = whyNoCluster();
if (missing !== undefined) process.stdout.write(`skipped: the Helm chart on an API server: ${missing}\n`);

describe.skipIf(missing !== undefined)('the Helm chart, on a real Kubernetes API server', () => {
  // Two calls of Helm may take three minutes each.
  vi.setConfig({ testTimeout: 420_000, hookTimeout: 300_000 });
  let cluster: Cluster;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'slipway-chart-'));
    cluster = await Cluster.start({ nodes: 3 });
    await cluster.create('/api/v1/namespaces', {
      // The strictest of Kubernetes' own policies for pods: it refuses those with more rights than they need.
      metadata: { name: NAMESPACE, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
    });
    for (const name of ['page', 'worker', 'hooks', 'codec', 'platform', 'registry']) {
      await cluster.create(`/api/v1/namespaces/${NAMESPACE}/secrets`, {
        metadata: { name },
        stringData: { KEY: 'value' },
      });
    }
    await cluster.create(`/api/v1/namespaces/${NAMESPACE}/configmaps`, {
      metadata: { name: 'slipway-yaml' },
      data: { 'slipway.yaml': '' },
    });
    await cluster.create('/api/v1/persistentvolumes', {
      metadata: { name: 'disk' },
      spec: {
        capacity: { storage: '5Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'manual',
        hostPath: { path: '/var/lib/slipway' },
      },
    });
  });

  afterAll(async () => {
    await cluster.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it.each([
    ['the least values', LEAST, 7],
    ['everything enabled', EVERYTHING, 18],
  ])('has no field that is unknown to the API server, with %s', async (name, values, count) => {
    const rendered = await cluster.helm(
      'template',
      'slipway',
      CHART,
      ...VERSION,
      '--values',
      await valuesFile(name, values),
    );
    const objects = parseAllDocuments(rendered).map((document) => document.toJS() as Applied);
    expect(objects).toHaveLength(count);
    for (const object of objects) {
      const { status, body } = await applied(object, 'dryRun=All&');
      expect(status, `${object.kind} ${object.metadata.name}: ${JSON.stringify(body)}`).toBe(201);
    }
  });

  it('can be installed in a restricted namespace, and all its pods are accepted, scheduled and ready', async () => {
    await deploy('install', 'everything', EVERYTHING);
    const deployments = await list<Deployment>('/apis/apps/v1', 'deployments');
    const available = deployments.map(({ metadata, status }) => [metadata.name, status.availableReplicas]);
    expect(Object.fromEntries(available)).toEqual({
      'slipway-worker': 3,
      'slipway-dashboard': 2,
      'slipway-hooks': 1,
      'slipway-codec': 1,
      'slipway-platform': 1,
    });
    const [claim] = await list<{ status: { phase: string } }>('/api/v1', 'persistentvolumeclaims');
    expect(claim?.status.phase).toBe('Bound');
    const workers = await pods('worker');
    expect(new Set(workers.map(({ spec }) => spec.nodeName)).size).toBe(3);
  });

  it('allows the eviction of one worker at a time, as during a drain', async () => {
    const budget = `/apis/policy/v1/namespaces/${NAMESPACE}/poddisruptionbudgets/slipway-worker`;
    await eventually(async () => {
      const { status } = await cluster.get<{ status: { disruptionsAllowed: number } }>(budget);
      expect(status.disruptionsAllowed).toBe(1);
    });
    const [one, other] = await pods('worker');
    const evict = (pod: Pod | undefined) =>
      cluster.call(
        'POST',
        `/api/v1/namespaces/${NAMESPACE}/pods/${pod?.metadata.name ?? ''}/eviction`,
        JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod?.metadata.name } }),
      );
    expect((await evict(one)).status).toBe(201);
    const refused = await evict(other);
    expect(refused.status, JSON.stringify(refused.body)).toBe(429);
    await eventually(async () => {
      const { status } = await deployment('worker');
      expect(status.availableReplicas).toBe(3);
    });
  });

  it('is upgraded to another image, and workers restart when their origins change', async () => {
    const digest = `sha256:${'b'.repeat(64)}`;
    const next = { ...EVERYTHING, image: { ...EVERYTHING.image, digest } };
    await deploy('upgrade', 'next', next);
    for (const part of ['worker', 'dashboard', 'hooks', 'codec', 'platform']) {
      const { spec, status } = await deployment(part);
      expect(spec.template.spec.containers[0].image).toBe(`registry.example.com/slipway@${digest}`);
      expect(status).toMatchObject({ availableReplicas: spec.replicas, updatedReplicas: spec.replicas });
    }
    const before = new Set((await pods('worker')).map(({ metadata }) => metadata.name));
    const origins = { ...next, secretOrigins: { 'env:SLIPWAY_API_KEY': ['https://other.example.com'] } };
    await deploy('upgrade', 'origins', origins);
    await eventually(async () => {
      const after = (await pods('worker')).map(({ metadata }) => metadata.name);
      expect(after).toHaveLength(3);
      expect(after.filter((name) => before.has(name))).toEqual([]);
    });
  });

  it('is uninstalled completely', async () => {
    await cluster.helm('uninstall', 'slipway', '--namespace', NAMESPACE, '--wait', '--timeout', '3m');
    await eventually(async () => {
      for (const [api, kind] of [
        ['/api/v1', 'pods'],
        ['/api/v1', 'services'],
        ['/api/v1', 'persistentvolumeclaims'],
        ['/apis/apps/v1', 'deployments'],
        ['/apis/apps/v1', 'replicasets'],
        ['/apis/networking.k8s.io/v1', 'networkpolicies'],
        ['/apis/policy/v1', 'poddisruptionbudgets'],
      ] as const) {
        expect(await list(api, kind), kind).toEqual([]);
      }
    });
  });

  interface Applied {
    readonly apiVersion: string;
    readonly kind: string;
    readonly metadata: { readonly name: string };
  }

  /** Server-side apply, which refuses unknown fields. */
  async function applied(object: Applied, query: string) {
    const { apiVersion, kind, metadata } = object;
    const group = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
    const { resources } = await cluster.get<{ resources: { name: string; kind: string }[] }>(group);
    const plural = resources.find((resource) => resource.kind === kind && !resource.name.includes('/'))?.name;
    return await cluster.call(
      'PATCH',
      `${group}/namespaces/${NAMESPACE}/${plural ?? ''}/${metadata.name}?${query}fieldManager=test&fieldValidation=Strict`,
      JSON.stringify(object),
      'application/apply-patch+yaml',
    );
  }

  async function valuesFile(name: string, values: object): Promise<string> {
    const file = join(folder, `${name.replaceAll(' ', '-')}.yaml`);
    await writeFile(file, stringify(values));
    return file;
  }

  /** Installs or upgrades the chart with `values`, and waits until its pods are ready. */
  async function deploy(action: 'install' | 'upgrade', name: string, values: object): Promise<void> {
    const settings = ['--namespace', NAMESPACE, '--values', await valuesFile(name, values)];
    await cluster.helm(action, 'slipway', CHART, ...settings, '--wait', '--timeout', '3m');
  }

  async function list<T>(api: string, kind: string, query = ''): Promise<readonly T[]> {
    return (await cluster.get<Listed<T>>(`${api}/namespaces/${NAMESPACE}/${kind}${query}`)).items;
  }

  async function deployment(part: string): Promise<Deployment> {
    return await cluster.get(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments/slipway-${part}`);
  }

  async function pods(part: string): Promise<readonly Pod[]> {
    const selector = encodeURIComponent(`app.kubernetes.io/component=${part}`);
    return await list<Pod>('/api/v1', 'pods', `?labelSelector=${selector}`);
  }
});
