import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Service {
  readonly image: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { condition: string }>>;
  readonly healthcheck?: { test: readonly string[]; interval: string; timeout: string; retries: number };
}

const compose = parse(read('docker-compose.yml')) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};
const services = Object.entries(compose.services);
const dockerfile = read('Dockerfile');

describe('docker-compose.yml', () => {
  it('names Temporal with its UI, Postgres, the platform and a worker', () => {
    expect(Object.keys(compose.services).sort()).toEqual([
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

  it.each(services)('pins the image of %s to a version', (_name, { image }) => {
    expect(image).toMatch(/:\d+\.\d+(?:\.\d+)?(?:-\w+)?$/);
  });

  it.each(services)('lets %s wait for the health of what it needs', (_name, { depends_on: needs = {} }) => {
    for (const [needed, { condition }] of Object.entries(needs)) {
      expect(compose.services).toHaveProperty(needed);
      expect(condition).toBe('service_healthy');
    }
  });

  it.each(services)('publishes %s on this machine only', (_name, { ports = [] }) => {
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it.each(services)(
    'mounts for %s volumes that are declared and files that exist',
    (_name, { volumes = [] }) => {
      for (const volume of volumes) {
        const [source = ''] = volume.split(':');
        if (source.startsWith('./')) expect(existsSync(join(ROOT, source))).toBe(true);
        else expect(compose.volumes).toHaveProperty(source);
      }
    },
  );

  it('takes every secret from the environment, and refuses to start without', () => {
    const secrets = services.flatMap(([, { environment = {} }]) =>
      Object.entries(environment).filter(([name]) => /PASSWORD|PWD|KEY|DATABASE_URL/.test(name)),
    );
    expect(secrets.length).toBeGreaterThan(0);
    for (const [, value] of secrets) expect(value).toMatch(/\$\{[A-Z_]+:\?[^}]+\}/);
  });

  it('asks for nothing that .env.example does not explain, and .env.example holds no value', () => {
    const asked = new Set([...read('docker-compose.yml').matchAll(/\$\{(\w+)/g)].map(([, name]) => name));
    const explained = [...read('.env.example').matchAll(/^(\w+)=(.*)$/gm)];
    expect(new Set(explained.map(([, name]) => name))).toEqual(asked);
    expect(explained.map(([, , value]) => value)).toEqual(explained.map(() => ''));
  });

  it('builds the image in this version', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    for (const name of ['platform', 'worker']) {
      expect(compose.services[name]).toMatchObject({ build: '.', image: `slipway:${version}` });
    }
  });
});

describe('the Dockerfile', () => {
  it('pins its base images to a version that the engines allow', () => {
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
    expect(bases.length).toBeGreaterThan(0);
    for (const image of bases) expect(image).toMatch(/^node:20\.(?:19|[2-9]\d)\.\d+-bookworm-slim$/);
  });

  it('copies only what is there', () => {
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

function read(name: string): string {
  return readFileSync(join(ROOT, name), 'utf8');
}
