import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { type AccessSettings, readAccessSettings } from '../../src/dashboard/access/accessSettings.ts';
import { buildProgram } from '../../src/cli/program/program.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Service {
  readonly image: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly networks: readonly string[];
  readonly logging?: { readonly options: Readonly<Record<string, string>> };
  readonly depends_on?: Readonly<Record<string, { condition: string }>>;
  readonly healthcheck?: { test: readonly string[]; interval: string; timeout: string; retries: number };
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const compose = parse(read('docker-compose.yml'), { merge: true }) as Compose;
const tls = parse(read('docker-compose.tls.yml')) as Compose;
const services = Object.entries(compose.services);
const dockerfile = read('Dockerfile');

it.each([
  'Dockerfile',
  'docker-compose.yml',
  'docker-compose.tls.yml',
  'templates/gitlab/release.gitlab-ci.yml',
])('every image of others in %s is pinned to a version and a digest', (file) => {
  const images = [...read(file).matchAll(/^(?:ARG NODE_IMAGE=| *image: )(?!\$\{SLIPWAY_IMAGE)(.+)$/gm)];
  expect(images.length).toBeGreaterThan(0);
  for (const [, image] of images) {
    expect(image).toMatch(/^[a-z/-]+:\d+\.\d+(?:\.\d+)?(?:-[a-z-]+)?@sha256:[0-9a-f]{64}$/);
  }
});

describe('docker-compose.yml', () => {
  it('names Temporal with its UI, Postgres, the platform, a worker, the dashboard and the hooks', () => {
    expect(Object.keys(compose.services).sort()).toEqual([
      'dashboard',
      'hooks',
      'platform',
      'postgres',
      'temporal',
      'temporal-ui',
      'worker',
    ]);
  });

  it.each(services)('gives %s a health check that runs a command', (_name, { healthcheck }) => {
    expect(healthcheck?.test[0]).toBe('CMD');
    expect(healthcheck?.test.length).toBeGreaterThan(1);
    expect(healthcheck).toMatchObject({
      interval: expect.stringMatching(/^\d+s$/),
      timeout: expect.stringMatching(/^\d+s$/),
    });
    expect(healthcheck?.retries).toBeGreaterThan(0);
  });

  it.each([...services, ['caddy', tls.services['caddy']!] as const])(
    'limits the logs of %s',
    (_name, { logging }) => {
      expect(logging?.options).toEqual({ 'max-size': '10m', 'max-file': '3' });
    },
  );

  it.each(services)(
    'starts %s after the services that it needs are healthy',
    (_name, { depends_on: needs = {} }) => {
      for (const [needed, { condition }] of Object.entries(needs)) {
        expect(compose.services).toHaveProperty(needed);
        expect(condition).toBe('service_healthy');
      }
    },
  );

  it.each(services)('publishes %s only on this machine', (_name, { ports = [] }) => {
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it.each(services)('mounts for %s declared volumes and existing files', (_name, { volumes = [] }) => {
    for (const volume of volumes) {
      // The repository that the variable names.
      if (volume.startsWith('${SLIPWAY_SOURCE:-.}:')) continue;
      const [source = ''] = volume.split(':');
      if (source.startsWith('./')) expect(existsSync(join(ROOT, source))).toBe(true);
      else expect(compose.volumes).toHaveProperty(source);
    }
  });

  it('uses existing commands and options of slipway, and starts a worker without ending workflows', () => {
    const calls = services.flatMap(([, { command = [] }]) => slipwayCalls(command));
    expect(calls.map(([name]) => name).sort()).toEqual(['dashboard', 'hooks', 'platform', 'worker']);
    const { commands } = buildProgram({ version: '0.0.0', onExit: () => undefined });
    for (const [name, ...options] of calls) {
      const command = commands.find((known) => known.name() === name);
      expect(command?.parseOptions(options)).toEqual({ operands: [], unknown: [] });
    }
  });

  it('gives the platform its database, the worker its Temporal, and both one key', () => {
    const { platform, worker } = compose.services;
    expect(platform?.environment?.['DATABASE_URL']).toMatch(/^postgres:\/\/\S+:\$\{.+\}@postgres:5432\/\w+$/);
    const { commands } = buildProgram({ version: '0.0.0', onExit: () => undefined });
    const variables = commands
      .find((command) => command.name() === 'platform')
      ?.options.map(({ envVar }) => envVar);
    expect(variables).toContain('DATABASE_URL');
    expect(worker?.environment?.['TEMPORAL_ADDRESS']).toBe('temporal:7233');
    expect(worker?.environment?.['SLIPWAY_API_KEY']).toBe(
      platform?.environment?.['SLIPWAY_PLATFORM_API_KEY'],
    );
  });

  it('keeps persistent data in volumes: the database, the platform’s home, the artifacts', () => {
    const [, home = ''] = /ENV SLIPWAY_HOME=(\S+)/.exec(dockerfile) ?? [];
    const { postgres, platform, worker } = compose.services;
    expect(postgres?.volumes).toContain('postgres:/var/lib/postgresql/data');
    expect(platform?.volumes).toContain(`platform:${home}`);
    expect(slipwayCalls(platform?.command ?? [])[0]).toEqual(expect.arrayContaining(['--home', home]));
    expect(worker?.volumes).toContain(`artifacts:${home}`);
  });

  it('reads every secret from the environment, and does not start without it', () => {
    const secrets = services.flatMap(([, { environment = {} }]) =>
      Object.entries(environment).filter(([name]) => /PASSWORD|PWD|KEY|DATABASE_URL/.test(name)),
    );
    expect(secrets.length).toBeGreaterThan(0);
    for (const [name, value] of secrets) {
      // There are two ways to sign in. The page itself refuses to start without either.
      expect(value).toMatch(name === 'SLIPWAY_DASHBOARD_KEY' ? /^\$\{[A-Z_]+:-\}$/ : /\$\{[A-Z_]+:\?[^}]+\}/);
    }
  });

  it('gives the dashboard a key or an issuer from the environment, and never runs it without a sign-in', () => {
    const key = { SLIPWAY_DASHBOARD_KEY: 'a key that a small team shares' };
    expect(pageAccess(key).signIn).toMatchObject({ way: 'key' });
    const issuer = { SLIPWAY_OIDC_ISSUER: 'https://login.example.com', SLIPWAY_OIDC_CLIENT_ID: 'slipway' };
    expect(pageAccess(issuer).signIn).toMatchObject({ way: 'oidc' });
    expect(() => pageAccess({})).toThrow(expect.objectContaining({ code: 'SLIPWAY_DASHBOARD_OPEN' }));
  });

  it('lets the dashboard read the records of releases, and write nothing', () => {
    const [, home = ''] = /ENV SLIPWAY_HOME=(\S+)/.exec(dockerfile) ?? [];
    expect(compose.services['dashboard']).toMatchObject({
      read_only: true,
      volumes: [`artifacts:${home}:ro`],
    });
  });

  it('makes notices link to the dashboard’s address', () => {
    const { dashboard, worker } = compose.services;
    const address = dashboard?.environment?.['SLIPWAY_DASHBOARD_URL'];
    expect(address).toBe('${SLIPWAY_DASHBOARD_URL:-}');
    expect(worker?.environment?.['SLIPWAY_DASHBOARD_URL']).toBe(address);
  });

  it('uses the variables of .env.example, which has no values', () => {
    const files = read('docker-compose.yml') + read('docker-compose.tls.yml');
    const asked = new Set([...files.matchAll(/\$\{(\w+)/g)].map(([, name]) => name));
    const explained = [...read('.env.example').matchAll(/^(\w+)=(.*)$/gm)];
    expect(new Set(explained.map(([, name]) => name))).toEqual(asked);
    expect(explained.map(([, , value]) => value)).toEqual(explained.map(() => ''));
  });

  it('builds the image in this version', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    for (const name of ['platform', 'worker', 'dashboard', 'hooks']) {
      expect(compose.services[name]).toMatchObject({
        build: '.',
        image: `\${SLIPWAY_IMAGE:-slipway:${version}}`,
      });
    }
  });

  it.each(['platform', 'worker', 'dashboard', 'hooks'])(
    'runs %s on a read-only root, without privileges',
    (name) => {
      expect(compose.services[name]).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
    },
  );

  it('has no network from the platform, where agents run, to Temporal', () => {
    const { platform, temporal, worker } = compose.services;
    expect(platform?.networks.filter((name) => temporal?.networks.includes(name))).toEqual([]);
    expect(worker?.networks).toContain('platform');
    for (const name of compose.services['postgres']?.networks ?? []) {
      expect(compose.networks[name]).toMatchObject({ internal: true });
    }
  });

  it('gives Temporal and the platform a separate role each, and the superuser to neither', () => {
    const { postgres, platform, temporal } = compose.services;
    const passwords = [platform, temporal].flatMap((service) =>
      [...JSON.stringify(service?.environment).matchAll(/\$\{(\w+_PASSWORD)/g)].map(([, name]) => name),
    );
    expect(passwords).toEqual(['PLATFORM_DB_PASSWORD', 'TEMPORAL_DB_PASSWORD']);
    expect(postgres?.environment).toHaveProperty('POSTGRES_PASSWORD');
    const [, init = ''] = /^\.(\/\S+?):/.exec(postgres?.volumes?.[1] ?? '') ?? [];
    for (const password of passwords) expect(read(init)).toContain(`$${password}`);
  });
});

describe('docker-compose.tls.yml', () => {
  it('adds a proxy, and changes only existing services', () => {
    const { caddy, ...changed } = tls.services;
    expect(caddy).toHaveProperty('image');
    for (const name of Object.keys(changed)) expect(compose.services).toHaveProperty(name);
  });

  it('makes the dashboard and the platform trust only the proxy’s address', () => {
    const { caddy, platform, dashboard } = tls.services;
    const { edge } = caddy?.networks as unknown as { edge: { ipv4_address: string } };
    for (const service of [platform, dashboard]) {
      expect(service?.environment?.['SLIPWAY_TRUSTED_PROXIES']).toBe(edge.ipv4_address);
    }
  });

  it('forwards to the ports of the dashboard, the hooks and the platform, which it reaches', () => {
    const proxied = [...read('docker/Caddyfile').matchAll(/reverse_proxy (?:\/\S+ )?(\w+):(\d+)/g)];
    expect(proxied).toHaveLength(3);
    for (const [, name = '', port = ''] of proxied) {
      expect(tls.services[name]?.networks).toContain('edge');
      expect(JSON.stringify(compose.services[name]?.command)).toMatch(new RegExp(`"(?:--port=)?${port}"`));
    }
  });
});

describe('the Dockerfile', () => {
  it('has one base image, of an exact version that the engines allow', () => {
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
    expect(bases).toEqual(['${NODE_IMAGE}', '${NODE_IMAGE}']);
    const [, major = ''] = /^ARG NODE_IMAGE=node:(\d+)\..+-bookworm-slim@/m.exec(dockerfile) ?? [];
    const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
    expect(engines.node.split(' || ').at(-1)).toBe(`^${major}.0.0`);
  });

  it('installs packages without their scripts', () => {
    expect(dockerfile.match(/npm ci\b.*/g)).toEqual(['npm ci --ignore-scripts']);
  });

  it('copies only files that exist', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    );
    expect(copied.length).toBeGreaterThan(0);
    for (const name of copied) expect(existsSync(join(ROOT, name))).toBe(true);
  });

  it('does not run as root', () => {
    expect([...dockerfile.matchAll(/^USER (\S+)$/gm)].map(([, user]) => user)).toEqual(['node']);
  });
});

describe('the scripts of the worker’s container', () => {
  it.each(['searchAttributes', 'workerHealth'])('%s imports only what the build exports', async (name) => {
    expect(read('docker-compose.yml')).toContain(`/app/docker/${name}.mjs`);
    const script = read(`docker/${name}.mjs`);
    const imports = [...script.matchAll(/^import \{ (.+) \} from '\.\.\/dist\/(.+)\.js';$/gm)];
    expect(imports.length).toBeGreaterThan(0);
    for (const [, names = '', module = ''] of imports) {
      const built = (await import(join(ROOT, 'src', `${module}.ts`))) as object;
      for (const name of names.split(', ')) expect(built).toHaveProperty(name);
    }
  });
});

function pageAccess(env: Readonly<Record<string, string>>): AccessSettings {
  const { environment = {}, command = [] } = compose.services['dashboard'] ?? {};
  const filled = Object.entries({ ...environment }).map(([name, value]) => [
    name,
    value.replaceAll(/\$\{(\w+):[-?][^}]*\}/g, (_, variable: string) => env[variable] ?? ''),
  ]);
  const host = command.find((word) => word.startsWith('--host='))?.slice('--host='.length) ?? '';
  return readAccessSettings(Object.fromEntries(filled) as Record<string, string>, host);
}

/** The command's calls, each as its arguments: directly, or within a shell script. */
function slipwayCalls(command: readonly string[]): readonly (readonly string[])[] {
  if (command[0] === 'slipway') return [command.slice(1)];
  if (command[0] !== 'sh') return [];
  return (command.at(-1) ?? '')
    .split(';')
    .map((call) => call.trim().split(/\s+/))
    .filter((words) => words.includes('slipway'))
    .map((words) => words.slice(words.indexOf('slipway') + 1));
}

function read(name: string): string {
  return readFileSync(join(ROOT, name), 'utf8');
}
