import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';

import { SEARCH_ATTRIBUTES } from '../../../src/domain/searchAttributes.ts';
import { eventually } from '../stack.ts';
import { readCompose } from './composeFile.ts';
import { Composition } from './composition.ts';
import { buildImage, findImages, mustPodman } from './engine.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const NAME = 'slipway-e2e';
const IMAGE = 'localhost/slipway-test/slipway';
const HOSTS = { page: 'page.slipway.test', platform: 'platform.slipway.test' };
const CADDY = '172.31.255.2';
const ENV = {
  POSTGRES_PASSWORD: 'of-the-superuser',
  TEMPORAL_DB_PASSWORD: 'of-temporal',
  PLATFORM_DB_PASSWORD: 'of-the-platform',
  SLIPWAY_API_KEY: 'a-key-that-releases-show-the-platform',
  SLIPWAY_MASTER_KEY: '42'.repeat(32),
  SLIPWAY_DASHBOARD_KEY: 'a-key-that-a-small-team-shares',
  SLIPWAY_IMAGE: `${IMAGE}:one`,
  PAGE_HOST: HOSTS.page,
  PLATFORM_HOST: HOSTS.platform,
  TLS: '/certs/tls.crt /certs/tls.key',
};
const OUTCOME = defineSearchAttributeKey(SEARCH_ATTRIBUTES.outcome, SearchAttributeType.KEYWORD);
/** The services that a release can meet while they are down, in the order in which they are killed. */
const KILLED = ['worker', 'platform', 'temporal', 'postgres', 'caddy', 'dashboard', 'temporal-ui'] as const;
const LOADED = Array.from({ length: 6 }, (_, index) => `loaded-${index + 1}`);

const official = Object.fromEntries(
  Object.entries(readCompose(ENV).services).map(([name, { image }]) => [name, image]),
);
const [, node = ''] = /^ARG NODE_IMAGE=(.+)$/m.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')) ?? [];
const images = await findImages(official, node);
if (typeof images === 'string') process.stdout.write(`skipped: the composition in containers: ${images}\n`);

/** Tries to connect to each address for 2 s, and answers those that took the connection. */
const REACHED = `
import { connect } from 'node:net';
export const reached = async (addresses) => {
  const tries = addresses.map((address) => new Promise((resolve) => {
    const [host, port] = address.split(':');
    const socket = connect({ host, port: Number(port), timeout: 2000 }, () => end([address]));
    const end = (result) => { socket.destroy(); resolve(result); };
    socket.once('error', () => end([])).once('timeout', () => end([]));
  }));
  return (await Promise.all(tries)).flat();
};
`;

describe.skipIf(typeof images === 'string')('docker-compose.yml with TLS, in containers', () => {
  vi.setConfig({ testTimeout: 600_000, hookTimeout: 2_400_000 });
  let folder: string;
  let composition: Composition;

  beforeAll(async () => {
    if (typeof images === 'string') return;
    folder = await mkdtemp(join(tmpdir(), 'slipway-containers-'));
    await makeCertificates();
    await buildImage(ENV.SLIPWAY_IMAGE, 'one', images.node);
    const trusts = {
      volumes: [`${folder}/ca.crt:/ca.crt:ro`],
      environment: { NODE_EXTRA_CA_CERTS: '/ca.crt' },
    };
    composition = new Composition({
      name: NAME,
      env: ENV,
      images: images.others,
      added: {
        platform: trusts,
        worker: trusts,
        dashboard: trusts,
        caddy: { volumes: [`${folder}/certs:/certs:ro`] },
      },
    });
    await composition.down();
    await composition.up();
  });

  afterAll(async () => {
    if (typeof images === 'string') return;
    await composition.down();
    await mustPodman(['image', 'rm', '--force', `${IMAGE}:one`, `${IMAGE}:two`]);
    await rm(folder, { recursive: true, force: true });
  });

  it('runs Slipway as an unprivileged user, on a read-only root', async () => {
    for (const service of ['platform', 'worker', 'dashboard']) {
      const { text } = await composition.exec(
        service,
        ...['sh', '-c', 'id -u; grep -E "^(CapEff|NoNewPrivs)" /proc/self/status; touch /app/written'],
      );
      expect(text).toMatch(/^1000\nCapEff:\s+0+\nNoNewPrivs:\s+1\n.*Read-only file system/s);
    }
  });

  it('gives Temporal and the platform a separate role each, without superuser and without access to the other’s database', async () => {
    const asRole = (role: string, password: string, database: string) =>
      composition.exec(
        'postgres',
        ...['psql', `postgres://${role}:${password}@127.0.0.1/${database}`, '--tuples-only', '--command'],
        'select rolsuper from pg_roles where rolname = current_user',
      );
    const mayUse: readonly (readonly [string, string, string])[] = [
      ['temporal', ENV.TEMPORAL_DB_PASSWORD, 'temporal'],
      ['slipway', ENV.PLATFORM_DB_PASSWORD, 'slipway'],
    ];
    for (const use of mayUse) expect(await asRole(...use)).toEqual({ code: 0, text: 'f' });
    for (const [role, password, own] of mayUse) {
      for (const database of ['temporal', 'temporal_visibility', 'slipway', 'postgres']) {
        if (database.startsWith(own)) continue;
        const { code, text } = await asRole(role, password, database);
        expect(code, `${role} in ${database}`).not.toBe(0);
        expect(text).toContain('permission denied for database');
      }
    }
  });

  it('releases through TLS an agent that reaches PostgreSQL, but not Temporal', async () => {
    const temporal = [
      ...(await addresses('temporal', ['temporal', 'temporal-database'], [7233, 7234, 7235, 7239])),
      ...(await addresses('temporal-ui', ['temporal'], [8080])),
      ...(await addresses('postgres', ['temporal-database'], [5432])),
      'temporal:7233',
    ];
    const [postgres = ''] = await addresses('postgres', ['platform-database'], [5432]);
    // What the agent must not reach is there, for who may.
    const [frontend = ''] = temporal;
    const fromWorker = `${REACHED.replace('export ', '')} console.log(await reached(['${frontend}']))`;
    const { text } = await composition.exec('worker', 'node', '--input-type=module', '--eval', fromWorker);
    expect(text).toContain(frontend);

    await writeAgent('reaching', {
      answers: `JSON.stringify(await reached(${JSON.stringify([...temporal, postgres])}))`,
      expects: { contains: `["${postgres}"]` },
    });
    // A checkout of another user than the container's.
    const checkOut =
      'git init -q; git add -A; git -c user.name=Ada -c user.email=ada@example.com commit -qm one';
    execFileSync('sh', ['-ec', checkOut], { cwd: `${folder}/reaching` });
    const released = await composition.run('worker', ['slipway', 'release', 'staging'], `${folder}/reaching`);
    expect(released.code, released.text).toBe(0);
    expect(released.text).toContain('released');
    expect(released.text).toMatch(/, commit [0-9a-f]{12} on staging/);
  });

  it('records the client’s own address behind the proxy, not one that a client claims', async () => {
    const url = `https://${HOSTS.platform}/v1/audit?limit=100`;
    const claims = ['-H', 'X-Forwarded-For: 203.0.113.9', '-H', `X-Api-Key: ${ENV.SLIPWAY_API_KEY}`];
    const { code, text } = await composition.exec(
      'worker',
      'curl',
      '-sS',
      '--cacert',
      '/ca.crt',
      ...claims,
      url,
    );
    expect(code, text).toBe(0);
    const { resources } = JSON.parse(text) as { resources: { address: string | null }[] };
    const worker = await composition.addressOf('worker', 'edge');
    expect(new Set(resources.map(({ address }) => address))).toContain(worker);
    expect(text).not.toContain('203.0.113.9');
    expect(text).not.toContain(CADDY);
  });

  it('counts wrong keys of the dashboard per client, and lets others sign in', async () => {
    const statuses = [];
    for (let index = 0; index < 11; index++) statuses.push(await signIn('worker', `wrong key ${index}`));
    expect(statuses).toEqual([...Array<string>(10).fill('403'), '429']);
    expect(await signIn('worker', ENV.SLIPWAY_DASHBOARD_KEY)).toBe('429');
    expect(await signIn('platform', ENV.SLIPWAY_DASHBOARD_KEY)).toBe('303');
  });

  it('lets a request to the page wait while the page restarts', async () => {
    const page = `https://${HOSTS.page}`;
    const resolve = `${HOSTS.page}:443:${CADDY}`;
    const curl = ['curl', '-sS', '--fail-with-body', '--cacert', '/ca.crt', '--resolve', resolve];
    await mustPodman(['stop', composition.container('dashboard')]);
    const asked = composition.exec('worker', ...curl, `${page}/health`);
    await mustPodman(['start', composition.container('dashboard')]);
    expect(await asked).toEqual({ code: 0, text: '{"status":"ok"}' });
    await composition.healthy('dashboard');
  });

  it.each(KILLED)('finishes a release although the container of %s is killed during it', async (service) => {
    const name = `killed-${service}`;
    await writeAgent(name, { answers: '"Hello Ada"', expects: { contains: 'Ada' }, takesMs: 4_000 });
    const queued = await composition.run(
      'worker',
      ['slipway', 'release', 'staging', '--no-wait'],
      `${folder}/${name}`,
    );
    expect(queued.code, queued.text).toBe(0);
    expect(await outcomes([name])).toEqual({ [name]: 'running' });
    await composition.kill(service);
    await composition.healthy(service);
    await expectReleased([name]);
  });

  it('finishes every release although the worker is replaced by one of another image', async () => {
    const changes = join(folder, 'two');
    await mkdir(changes);
    // Another version that replays the histories of the first.
    await writeFile(
      join(changes, 'Dockerfile'),
      `FROM ${IMAGE}:one\nUSER root\nRUN cd dist && sed -i '1i // two' workflow-bundle.cjs && sed -i "s/bundle\\":\\"[0-9a-f]*/bundle\\":\\"$(sha256sum workflow-bundle.cjs | cut -c 1-12)/" build.json\nUSER node\n`,
    );
    await mustPodman(['build', '--tag', `${IMAGE}:two`, changes]);
    for (const name of LOADED) {
      await writeAgent(name, { answers: '"Hello Ada"', expects: { contains: 'Ada' }, takesMs: 4_000 });
    }
    const queued = await Promise.all(
      LOADED.map((name) =>
        composition.run('worker', ['slipway', 'release', 'staging', '--no-wait'], `${folder}/${name}`),
      ),
    );
    for (const { code, text } of queued) expect(code, text).toBe(0);
    expect(Object.values(await outcomes(LOADED))).toContain('running');
    await composition.upgrade('worker', `${IMAGE}:two`);
    await composition.healthy('worker');
    await expectReleased(LOADED);
    const { text } = await composition.exec('worker', 'head', '-n', '1', '/app/dist/workflow-bundle.cjs');
    expect(text).toBe('// two');
  });

  it('has shipped one revision for each release, and violated no rule', async () => {
    for (const name of [...KILLED.map((service) => `killed-${service}`), ...LOADED]) {
      const { code, text } = await composition.run(
        'worker',
        ['slipway', 'audit', 'staging', '--json'],
        `${folder}/${name}`,
      );
      expect(code, text).toBe(0);
      const deployments = (await platform(`/v2/deployments?name_contains=${name}`)) as {
        resources: { id: string; name: string }[];
      };
      const deployment = deployments.resources.find((found) => found.name === name);
      const { resources } = (await platform(
        `/v2/deployments/${deployment?.id ?? ''}/revisions?limit=100`,
      )) as {
        resources: { source_revision_config: { source_tarball_path?: string | null } }[];
      };
      const shipped = resources.filter(
        ({ source_revision_config: config }) => typeof config.source_tarball_path === 'string',
      );
      expect(shipped, name).toHaveLength(1);
    }
  });

  /** A repository with an agent that answers everything with an expression, and a check that expects something of it. */
  async function writeAgent(
    name: string,
    { answers, expects, takesMs = 0 }: { answers: string; expects: object; takesMs?: number },
  ): Promise<void> {
    const own = join(folder, name);
    await mkdir(own);
    await writeFile(join(own, 'graph.json'), JSON.stringify({ graphs: { greeter: './agent.mjs:graph' } }));
    await writeFile(
      join(own, 'agent.mjs'),
      `import { setTimeout as sleep } from 'node:timers/promises';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
${REACHED}
async function answer() {
  await sleep(${takesMs});
  return { messages: [{ role: 'assistant', content: ${answers} }] };
}
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', answer)
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile({ name: 'greeter' });
`,
    );
    await writeFile(
      join(own, 'slipway.yaml'),
      stringify({
        targets: {
          staging: {
            controlPlane: `https://${HOSTS.platform}`,
            apiKey: { from: 'env:SLIPWAY_API_KEY' },
            deployment: name,
          },
        },
        artifact: { installCommand: 'ln -s /app/node_modules node_modules' },
        checks: [
          {
            name: 'answers',
            assistant: 'greeter',
            input: { messages: [{ role: 'user', content: 'Hello' }] },
            expect: expects,
            timeout: '60s',
          },
        ],
      }),
    );
  }

  async function addresses(
    service: string,
    networks: readonly string[],
    ports: readonly number[],
  ): Promise<readonly string[]> {
    const found = await Promise.all(networks.map((network) => composition.addressOf(service, network)));
    return found.flatMap((address) => ports.map((port) => `${address}:${port}`));
  }

  /** Signs in to the page through the proxy, from a service's container; answers the status. */
  async function signIn(service: string, key: string): Promise<string> {
    const page = `https://${HOSTS.page}`;
    const curl = `curl -sS --cacert /ca.crt --resolve ${HOSTS.page}:443:${CADDY} -b /tmp/jar -c /tmp/jar -H 'X-Forwarded-For: 198.51.100.'$RANDOM`;
    const script = `
csrf=$(${curl} ${page}/sign-in | sed -n 's/.*name="csrf" value="\\([^"]*\\)".*/\\1/p')
${curl} -o /dev/null -w '%{http_code}' -H 'Origin: ${page}' --data-urlencode "csrf=$csrf" --data-urlencode name=Ada --data-urlencode 'key=${key}' ${page}/sign-in`;
    const { text } = await composition.exec(service, 'bash', '-c', script);
    return text;
  }

  /** The outcomes of the releases to some deployments, by deployment, as Temporal's search attributes have them. */
  async function outcomes(names: readonly string[]): Promise<Record<string, string>> {
    // Anew each time: a container that was started again may have another address.
    const connection = await Connection.connect({
      address: `${await composition.addressOf('temporal', 'temporal')}:7233`,
    });
    try {
      const found: Record<string, string> = {};
      const workflows = new Client({ connection }).workflow.list({ query: "WorkflowType = 'release'" });
      for await (const { workflowId, typedSearchAttributes } of workflows) {
        const name = names.find((each) => workflowId.includes(`:${each}/`));
        if (name !== undefined) found[name] = String(typedSearchAttributes.get(OUTCOME));
      }
      return found;
    } finally {
      await connection.close();
    }
  }

  /** Waits until the releases to some deployments have ended. The message of one that was not released shows it. */
  async function expectReleased(names: readonly string[]): Promise<void> {
    const found = await eventually(async () => {
      const ended = await outcomes(names);
      expect(Object.keys(ended)).toHaveLength(names.length);
      expect(Object.values(ended)).not.toContain('running');
      return ended;
    }, 300_000);
    for (const [name, outcome] of Object.entries(found)) {
      if (outcome === 'released') continue;
      const { text } = await composition.run('worker', ['slipway', 'show', 'latest'], `${folder}/${name}`);
      expect.fail(`${name}: ${outcome}\n${text}`);
    }
  }

  async function platform(path: string): Promise<unknown> {
    const { code, text } = await composition.exec(
      'platform',
      ...['curl', '-sS', '--fail-with-body', '-H', `X-Api-Key: ${ENV.SLIPWAY_API_KEY}`],
      `http://127.0.0.1:4700${path}`,
    );
    expect(code, text).toBe(0);
    return JSON.parse(text);
  }

  /** A certificate for both names, and the authority that signed it. */
  async function makeCertificates(): Promise<void> {
    await mkdir(join(folder, 'certs'));
    const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
    const key = ['-newkey', 'rsa:2048', '-nodes'];
    openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.crt', '-days', '2', '-subj', '/CN=test');
    openssl('req', ...key, '-keyout', 'certs/tls.key', '-out', 'tls.csr', '-subj', `/CN=${HOSTS.page}`);
    await writeFile(join(folder, 'names'), `subjectAltName=DNS:${HOSTS.page},DNS:${HOSTS.platform}\n`);
    openssl(
      ...['x509', '-req', '-in', 'tls.csr', '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial'],
      ...['-days', '2', '-extfile', 'names', '-out', 'certs/tls.crt'],
    );
  }
});
