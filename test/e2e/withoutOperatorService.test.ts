import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { SEARCH_ATTRIBUTES } from '../../src/domain/searchAttributes.ts';
import { installTemporal } from '../../src/temporal/server/installation/installation.ts';
import { listen } from '../support/listen.ts';
import { slipway } from './processes.ts';
import { Project } from './project.ts';
import { goodAgent } from './servingDeployment.ts';
import { Stack } from './stack.ts';

// A Temporal as Temporal Cloud or a company's own: mutual TLS, a key in each call, an operator service that refuses it,
// and a network that it is reached from only through an HTTP proxy.

const API_KEY = 'a-key-of-temporal';
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;
/** A namespace without search attributes. */
const BARE = 'bare';

let certificates: string;
let stack: Stack;
let temporal: string;
/** How often each service refused a call. */
const refused = { operator: 0, key: 0 };

beforeAll(async () => {
  certificates = await mkdtemp(join(tmpdir(), 'slipway-certificates-'));
  const [key, cert] = [join(certificates, 'tls.key'), join(certificates, 'tls.crt')];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=temporal'],
      ...[
        '-addext',
        'subjectAltName=IP:127.0.0.1,DNS:temporal.test',
        '-addext',
        'basicConstraints=critical,CA:FALSE',
      ],
      ...['-keyout', key, '-out', cert],
    ],
    { stdio: 'pipe' },
  );
  ({ path: temporal } = await installTemporal({ onProgress: () => undefined }));
  stack = await Stack.start(
    {},
    {
      access: {
        tls: { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') },
        refuse,
      },
      env: {
        TEMPORAL_API_KEY: API_KEY,
        TEMPORAL_TLS_SERVER_CA_CERT_PATH: cert,
        TEMPORAL_TLS_CLIENT_CERT_PATH: cert,
        TEMPORAL_TLS_CLIENT_KEY_PATH: key,
      },
    },
  );
  operator('namespace', 'create', '--namespace', BARE);
});
afterAll(async () => {
  await stack.stop();
  await rm(certificates, { recursive: true });
});

function refuse({ authorization, ':path': path = '' }: IncomingHttpHeaders): number | undefined {
  if (authorization !== `Bearer ${API_KEY}`) {
    refused.key++;
    return UNAUTHENTICATED;
  }
  if (!path.startsWith('/temporal.api.operatorservice.')) return undefined;
  refused.operator++;
  return PERMISSION_DENIED;
}

function operator(...args: string[]): void {
  execFileSync(temporal, ['operator', ...args, '--address', stack.temporalAddress], { stdio: 'pipe' });
}

async function ran(
  args: readonly string[],
  env: Record<string, string | undefined>,
): Promise<{ code: number; text: string }> {
  const process = slipway(args, { env: { ...stack.env, ...env }, cwd: stack.folder });
  const code = await process.exited;
  return { code: code ?? -1, text: process.stdout + process.stderr };
}

it('a worker starts and releases without the operator service', async () => {
  const project = await Project.create(stack, { example: goodAgent(1), deployment: 'without-operator' });
  const { code, text } = await project.ran('release', 'staging');
  expect(code, text).toBe(0);
  const doctor = await project.ran('doctor');
  expect(doctor.text).toMatch(/✔ search attributes +registered/);
  expect(refused).toEqual({ operator: 0, key: 0 });
});

it('a namespace without search attributes is refused with the commands that add them, which work', async () => {
  const env = { TEMPORAL_NAMESPACE: BARE };
  const names = Object.values(SEARCH_ATTRIBUTES);
  const cloud = `tcld namespace search-attributes add --namespace ${BARE} ${names.map((name) => `--search-attribute ${name}=Keyword`).join(' ')}`;
  const own = `temporal operator search-attribute create --namespace ${BARE} ${names.map((name) => `--name ${name} --type Keyword`).join(' ')}`;

  const worker = await ran(['worker'], env);
  expect(worker.code, worker.text).toBe(6);
  expect(worker.text).toContain('SLIPWAY_SEARCH_ATTRIBUTES_MISSING');
  expect(worker.text).toContain('slipway doctor --fix');
  for (const command of [cloud, own]) expect(worker.text).toContain(command);

  const doctor = await ran(['doctor'], env);
  for (const command of ['slipway doctor --fix', cloud, own]) expect(doctor.text).toContain(command);
  expect(refused.operator).toBe(0);

  const fixed = await ran(['doctor', '--fix'], env);
  expect(fixed.text).toContain('PERMISSION_DENIED');
  for (const command of [cloud, own]) expect(fixed.text).toContain(command);
  expect(refused.operator).toBeGreaterThan(0);

  operator(...own.split(' ').slice(2));
  const again = await ran(['doctor'], env);
  expect(again.text).toMatch(/✔ search attributes +registered/);
  const started = slipway(['worker', '--json'], { env: { ...stack.env, ...env } });
  expect(await started.ready()).toMatchObject({ namespace: BARE });
  await started.stop();
});

it('a search attribute of another type is refused', async () => {
  operator('namespace', 'create', '--namespace', 'wrong');
  operator(
    ...['search-attribute', 'create', '--namespace', 'wrong', '--type', 'Text'],
    ...['--name', SEARCH_ATTRIBUTES.target],
  );
  const worker = await ran(['worker'], { TEMPORAL_NAMESPACE: 'wrong' });
  expect(worker.code, worker.text).toBe(6);
  expect(worker.text).toContain(`${SEARCH_ATTRIBUTES.target} with another type than Keyword`);
});

it('a key that Temporal does not accept is refused, and not shown', async () => {
  const worker = await ran(['worker'], { TEMPORAL_API_KEY: 'another-key-of-temporal' });
  expect(worker.code, worker.text).toBe(6);
  expect(worker.text).toContain('refused the credentials');
  expect(worker.text).not.toContain('another-key-of-temporal');
  expect(refused.key).toBeGreaterThan(0);
});

it('a worker without a client certificate is refused', async () => {
  const none = { TEMPORAL_TLS_CLIENT_CERT_PATH: undefined, TEMPORAL_TLS_CLIENT_KEY_PATH: undefined };
  const worker = await ran(['worker'], none);
  expect(worker.code, worker.text).toBe(6);
  expect(worker.text).toContain('SLIPWAY_TEMPORAL_UNREACHABLE');
});

it('a worker and a command reach it through an HTTP proxy', async () => {
  const asked: (string | undefined)[] = [];
  const proxy = createServer().on('connect', ({ url, headers }: IncomingMessage, client: Socket) => {
    asked.push(`${headers['proxy-authorization']} ${url}`);
    const { hostname, port } = new URL(`tcp://${stack.env['TEMPORAL_ADDRESS']}`);
    const temporal = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      temporal.pipe(client).pipe(temporal);
    });
    for (const socket of [client, temporal]) socket.on('error', () => undefined);
  });
  const { host } = new URL(await listen(proxy));
  const env = { TEMPORAL_ADDRESS: 'temporal.test:7233', grpc_proxy: `http://ada:word@${host}` };
  const worker = slipway(['worker', '--json'], { env: { ...stack.env, ...env } });
  try {
    await worker.ready();
    const ofWorker = asked.length;
    const doctor = await ran(['doctor'], env);
    expect(doctor.text).toMatch(/✔ search attributes +registered/);
    expect(asked.length).toBeGreaterThan(ofWorker);
    const credentials = `Basic ${Buffer.from('ada:word').toString('base64')}`;
    expect(new Set(asked)).toEqual(new Set([`${credentials} temporal.test:7233`]));
  } finally {
    await worker.stop();
    proxy.closeAllConnections();
    proxy.close();
  }
});
