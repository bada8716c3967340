import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';

import { Process } from '../processes.ts';
import { eventually } from '../stack.ts';
import { freePort } from '../../support/listen.ts';

const BIN = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'kubernetes-1.34.4', 'bin');
const PROGRAMS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok', 'helm'];
const TOKEN = 'of-the-admin';

/** Says what is missing for a cluster on this machine; `undefined` if nothing is. */
export function whyNoCluster(): string | undefined {
  const missing = PROGRAMS.filter((name) => !existsSync(join(BIN, name)));
  if (spawnSync('etcd', ['--version']).status !== 0) missing.push('etcd');
  return missing.length === 0
    ? undefined
    : `there is no ${missing.join(', ')}: run test/e2e/kubernetes/prepare.sh as root, on Debian`;
}

/** What an API server answered. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** A Kubernetes control plane on etcd, with nodes that kwok simulates: no container is started. */
export class Cluster {
  readonly #folder: string;
  readonly #port: number;
  readonly #processes: Process[] = [];

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
  }

  static async start({ nodes }: { readonly nodes: number }): Promise<Cluster> {
    const folder = await mkdtemp(join(tmpdir(), 'slipway-kubernetes-'));
    const [clients, peers] = [await freePort(), await freePort()];
    const cluster = new Cluster(folder, await freePort());
    try {
      await cluster.#start(`http://127.0.0.1:${clients}`, `http://127.0.0.1:${peers}`);
      for (let index = 0; index < nodes; index++) await cluster.#addNode(`node-${index}`);
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  async call(method: string, path: string, body?: string, contentType = 'application/json'): Promise<Answer> {
    return await new Promise((resolve, reject) => {
      const call = request(
        {
          host: '127.0.0.1',
          port: this.#port,
          method,
          path,
          // Its certificate is its own, and it listens on loopback.
          rejectUnauthorized: false,
          headers: { authorization: `Bearer ${TOKEN}`, 'content-type': contentType },
        },
        (response) => {
          text(response)
            .then((said) => resolve({ status: response.statusCode ?? 0, body: parsed(said) }))
            .catch(reject);
        },
      );
      call.on('error', reject);
      call.end(body);
    });
  }

  /** Reads an object. @throws if there is none. */
  async get<T>(path: string): Promise<T> {
    const { status, body } = await this.call('GET', path);
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
    return body as T;
  }

  /** Creates an object. @throws if the API server refuses it. */
  async create(path: string, object: object): Promise<void> {
    const { status, body } = await this.call('POST', path, JSON.stringify(object));
    if (status !== 201) throw new Error(`POST ${path}: ${status} ${JSON.stringify(body)}`);
  }

  /** Runs helm against this cluster. @throws with what it said, if it fails. */
  async helm(...args: readonly string[]): Promise<string> {
    // Not synchronously: the API server closes a connection that is not used for 90 s, and this process has to notice.
    const env = { ...process.env, KUBECONFIG: join(this.#folder, 'kubeconfig') };
    const { stdout } = await promisify(execFile)(join(BIN, 'helm'), args, { env });
    return stdout;
  }

  async stop(): Promise<void> {
    for (const started of this.#processes.toReversed()) await started.kill();
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #start(clients: string, peers: string): Promise<void> {
    const folder = this.#folder;
    const at = (name: string): string => join(folder, name);
    execFileSync('openssl', ['genrsa', '-out', at('sa.key'), '2048'], { stdio: 'pipe' });
    await writeFile(at('tokens.csv'), `${TOKEN},admin,admin,"system:masters"\n`);
    await writeFile(
      at('kubeconfig'),
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'c',
        clusters: [
          {
            name: 'c',
            cluster: { server: `https://127.0.0.1:${this.#port}`, 'insecure-skip-tls-verify': true },
          },
        ],
        users: [{ name: 'u', user: { token: TOKEN } }],
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      }),
    );
    const run = (command: string, ...args: string[]): void => {
      this.#processes.push(new Process(command, args, { cwd: folder }));
    };
    const listens = ['--listen-client-urls', clients, '--advertise-client-urls', clients];
    run('etcd', '--data-dir', at('etcd'), ...listens, '--listen-peer-urls', peers);
    run(
      join(BIN, 'kube-apiserver'),
      ...['--etcd-servers', clients, '--secure-port', String(this.#port), '--bind-address', '127.0.0.1'],
      ...['--cert-dir', at('certs'), '--token-auth-file', at('tokens.csv'), '--authorization-mode', 'RBAC'],
      ...[
        '--service-account-issuer',
        'https://kubernetes.default',
        '--service-cluster-ip-range',
        '10.0.0.0/24',
      ],
      ...['--service-account-signing-key-file', at('sa.key'), '--service-account-key-file', at('sa.key')],
    );
    await eventually(() => this.get('/readyz'));
    const asAdmin = ['--kubeconfig', at('kubeconfig')];
    const alone = ['--leader-elect=false', '--secure-port', '0'];
    run(
      join(BIN, 'kube-controller-manager'),
      ...[...asAdmin, ...alone, '--service-account-private-key-file', at('sa.key')],
    );
    run(join(BIN, 'kube-scheduler'), ...asAdmin, ...alone);
    // Nodes that do not say every few seconds that they live are taken for dead.
    run(join(BIN, 'kwok'), ...asAdmin, '--manage-all-nodes=true', '--node-lease-duration-seconds=40');
    await eventually(() => this.get('/api/v1/namespaces/default/serviceaccounts/default'));
  }

  async #addNode(name: string): Promise<void> {
    const resources = { cpu: '32', memory: '256Gi', pods: '110' };
    await this.create('/api/v1/nodes', {
      metadata: { name, labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' } },
      status: { allocatable: resources, capacity: resources },
    });
  }
}

function parsed(said: string): unknown {
  try {
    return JSON.parse(said);
  } catch {
    return said;
  }
}
