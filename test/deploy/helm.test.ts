import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Ajv } from 'ajv';
import { describe, expect, it, vi } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

import { commandLineProblem } from '../docs/commandLine.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CHART = join(ROOT, 'deploy/helm/slipway');
const PAGE = ['dashboard.url=https://slipway.example.com', 'dashboard.secret=page'];
const HOOKS = ['hooks.enabled=true', 'hooks.secret=hooks', 'hooks.source.configMap.name=slipway-yaml'];
const CODEC = ['codec.enabled=true', 'codec.secret=codec', 'codec.origins[0]=https://temporal.example.com'];
const PLATFORM = ['platform.enabled=true', 'platform.url=http://platform', 'platform.secret=platform'];
const ALL = [...PAGE, ...HOOKS, ...CODEC, ...PLATFORM];

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly workingDir?: string;
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly resources: { readonly limits: Readonly<Record<string, string>> };
}
interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly containers: readonly [Container];
        readonly terminationGracePeriodSeconds?: number;
        readonly securityContext: Readonly<Record<string, unknown>>;
        readonly automountServiceAccountToken: boolean;
        readonly volumes: readonly { readonly name: string }[];
      };
    };
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly ingress: readonly { readonly ports: readonly { readonly port: number }[] }[];
    readonly egress: readonly unknown[];
  };
}

const read = (path: string): string => readFileSync(join(CHART, path), 'utf8');
const hasHelm = spawnSync('helm', ['version']).status === 0;

function helm(command: 'template' | 'lint', settings: readonly string[]) {
  const name = command === 'template' ? ['release'] : [];
  // A helm that was built by Go takes Kubernetes for an old version.
  const args = [
    command,
    ...name,
    CHART,
    '--kube-version',
    '1.34.0',
    ...settings.flatMap((setting) => ['--set', setting]),
  ];
  return spawnSync('helm', args, { encoding: 'utf8' });
}

function rendered(settings: readonly string[]): readonly Manifest[] {
  const { stdout, stderr, status } = helm('template', settings);
  if (status !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
}

const ofKind = (manifests: readonly Manifest[], kind: string) =>
  manifests.filter((manifest) => manifest.kind === kind);

function deployment(part: string): Manifest {
  const found = ofKind(rendered(ALL), 'Deployment').find(
    ({ metadata }) => metadata.name === `release-${part}`,
  );
  if (found === undefined) throw new Error(`no Deployment of the ${part}`);
  return found;
}

// Helm renders the chart several times in some tests.
vi.setConfig({ testTimeout: 120_000 });

describe('the Helm chart', () => {
  it('has the version of the command', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(parse(read('Chart.yaml'))).toMatchObject({ version, appVersion: version });
  });

  it('has values that its schema accepts, and rejects unknown ones', () => {
    const validate = new Ajv({ strict: false }).compile(JSON.parse(read('values.schema.json')) as object);
    const values = parse(read('values.yaml')) as Record<string, unknown>;
    expect(validate(values)).toBe(true);
    expect(validate({ ...values, workr: {} })).toBe(false);
    expect(validate({ ...values, secretOrigins: { 'sk-secret': [] } })).toBe(false);
    expect(validate({ ...values, worker: { terminationGracePeriodSeconds: 30 } })).toBe(false);
  });
});

describe.skipIf(!hasHelm)('the rendered chart', () => {
  it('passes Helm’s lint', () => {
    const { status, stdout } = helm('lint', ALL);
    expect(stdout).toContain('0 chart(s) failed');
    expect(status).toBe(0);
  });

  it('runs a worker and the dashboard, and hooks, the codec server and the platform only if they are enabled', () => {
    const names = (settings: readonly string[]) =>
      ofKind(rendered(settings), 'Deployment').map(({ metadata }) => metadata.name);
    expect(names(PAGE)).toEqual(['release-dashboard', 'release-worker']);
    expect(names(ALL).sort()).toEqual([
      'release-codec',
      'release-dashboard',
      'release-hooks',
      'release-platform',
      'release-worker',
    ]);
    expect(names(['dashboard.enabled=false'])).toEqual(['release-worker']);
  });

  it('is rejected without a sign-in for the dashboard', () => {
    expect(helm('template', ['dashboard.url=https://slipway.example.com']).stderr).toContain(
      'without sign-in the page refuses to start',
    );
  });

  it.each(['codec', 'dashboard', 'hooks', 'platform', 'worker'])(
    'runs %s without privileges, on a read-only root, with a memory limit and an existing command',
    (name) => {
      const { template, selector } = deployment(name).spec;
      const { containers, securityContext, automountServiceAccountToken, volumes } = template.spec;
      const [container] = containers;
      expect(template.metadata.labels).toMatchObject(selector.matchLabels);
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(automountServiceAccountToken).toBe(false);
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toEqual(
        expect.arrayContaining(['/var/lib/slipway', '/tmp']),
      );
      expect(volumes.map(({ name }) => name).sort()).toEqual(
        container.volumeMounts.map(({ name }) => name).sort(),
      );
      expect(container.resources.limits).toHaveProperty('memory');
      const [command, ...words] = container.args;
      expect(command).toBe('slipway');
      expect(commandLineProblem(words)).toBeUndefined();
    },
  );

  it('gives a worker time for its calls, and keeps one of them while nodes are drained', () => {
    const manifests = rendered(PAGE);
    const worker = ofKind(manifests, 'Deployment').find(({ metadata }) => metadata.name === 'release-worker');
    expect(worker?.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(40);
    const [budget] = ofKind(manifests, 'PodDisruptionBudget');
    expect(budget?.spec).toMatchObject({ maxUnavailable: 1, selector: worker?.spec.selector });
  });

  it.each(['codec', 'dashboard', 'hooks'])(
    'lets %s serve until no node sends it requests any more',
    (name) => {
      const [{ lifecycle }] = deployment(name).spec.template.spec.containers;
      expect(lifecycle?.preStop.exec.command).toEqual(['sleep', '5']);
    },
  );

  it('binds secrets to origins if they are given, and restarts workers when they change', () => {
    const withOrigin = (host: string) =>
      rendered([...PAGE, `secretOrigins.env:KEY[0]=https://${host}.example.com`]);
    const [origins] = ofKind(withOrigin('one'), 'ConfigMap') as unknown as [{ data: Record<string, string> }];
    expect(parse(origins.data['secret-origins.yaml'] ?? '')).toEqual({
      'env:KEY': ['https://one.example.com'],
    });
    const worker = (host: string) => ofKind(withOrigin(host), 'Deployment').at(-1)?.spec.template;
    expect(worker('one')?.spec.containers[0].env).toContainEqual({
      name: 'SLIPWAY_SECRET_ORIGINS',
      value: '/etc/slipway/secret-origins.yaml',
    });
    expect(worker('one')?.metadata).not.toEqual(worker('two')?.metadata);
  });

  it('blocks the metadata service for all pods, and metrics for all but the named namespaces', () => {
    const policies = (settings: readonly string[]) => ofKind(rendered(settings), 'NetworkPolicy');
    const ports = (settings: readonly string[]) =>
      policies(settings).map(({ spec }) =>
        spec.ingress.flatMap((rule) => rule.ports.map(({ port }) => port)),
      );
    expect(policies(ALL)).toHaveLength(5);
    for (const { spec } of policies(ALL)) {
      expect(JSON.stringify(spec.egress)).toContain('"except":["169.254.0.0/16"]');
    }
    expect(ports(ALL).flat().sort()).toEqual([4700, 4701, 4702, 8888]);
    expect(
      ports([...ALL, 'networkPolicy.metricsFrom.team=metrics'])
        .flat()
        .sort(),
    ).toEqual([4700, 4701, 4702, 8888, 9464, 9465, 9466]);
  });

  it('lets pages of the given origins call the codec server, and rejects one without keys', () => {
    expect(deployment('codec').spec.template.spec.containers[0].args).toEqual(
      expect.arrayContaining(['--origin', 'https://temporal.example.com']),
    );
    expect(helm('template', [...PAGE, 'codec.enabled=true']).stderr).toContain('SLIPWAY_PAYLOAD_KEYS');
  });

  it('runs the hooks of the slipway.yaml in the given volume, and rejects them without it or without secrets', () => {
    const { containers, volumes } = deployment('hooks').spec.template.spec;
    const [{ volumeMounts, workingDir, env }] = containers;
    expect(volumes).toContainEqual({ name: 'source', configMap: { name: 'slipway-yaml' } });
    expect(volumeMounts).toContainEqual({ name: 'source', mountPath: '/source', readOnly: true });
    expect(workingDir).toBe('/source');
    expect(env.map(({ name }) => name)).toContain('TEMPORAL_ADDRESS');
    const problemWithout = (setting: string) =>
      helm('template', [...PAGE, ...HOOKS.filter((each) => !each.startsWith(setting))]).stderr;
    expect(problemWithout('hooks.source')).toContain('hooks.source');
    expect(problemWithout('hooks.secret')).toContain('hooks.secret');
  });

  it('accepts an image by its digest', () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    const [first] = ofKind(rendered([...PAGE, `image.digest=${digest}`]), 'Deployment');
    expect(first?.spec.template.spec.containers[0].image).toBe(`slipway@${digest}`);
  });
});

it('the worker’s probe is a file of the image', () => {
  const [, file = ''] = /node, (\/app\/\S+?)\]/.exec(read('templates/worker.yaml')) ?? [];
  expect(existsSync(join(ROOT, file.replace('/app/', '')))).toBe(true);
});

it('runs every part of Slipway that docker-compose.yml runs', () => {
  const { services } = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
    readonly services: Readonly<Record<string, { readonly build?: string }>>;
  };
  const parts = Object.entries(services).flatMap(([name, { build }]) => (build === undefined ? [] : [name]));
  expect(parts.filter((part) => !existsSync(join(CHART, `templates/${part}.yaml`)))).toEqual([]);
});
