import type { ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { Agent, request } from 'undici';

import type { Order, Outcome, Peer } from '../peer.ts';
import { freePorts, kill, startScript, startServer } from '../processes.ts';

const REGISTER_EVERY_MS = 100;
const REGISTER_TRIES = 100;

/** No timeouts: an answer comes only when a release has ended. */
const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

/** Restate: a server with a journal that calls the application's steps. */
export async function createPeer(): Promise<Peer> {
  const [ingress = 0, admin = 0, node = 0, application = 0] = await freePorts(4);
  let server: ChildProcess;
  let worker: ChildProcess;
  const startWorker = async (): Promise<void> => {
    worker = await startScript(new URL('./worker.ts', import.meta.url), application);
  };
  return Promise.resolve({
    start: async (folder: string) => {
      const environment = {
        RESTATE_BASE_DIR: join(folder, 'restate'),
        RESTATE_LISTEN_MODE: 'tcp',
        RESTATE_BIND_IP: '127.0.0.1',
        RESTATE_BIND_PORT: String(node),
        RESTATE_INGRESS__BIND_PORT: String(ingress),
        RESTATE_ADMIN__BIND_PORT: String(admin),
        RESTATE_DISABLE_TELEMETRY: 'true',
        DO_NOT_TRACK: '1',
      };
      server = await startServer(program(), ['--no-logo'], () => healthy(admin, ingress), {
        env: { ...process.env, ...environment },
      });
      await startWorker();
      await register(admin, application);
    },
    release: async (order: Order) =>
      JSON.parse(await post(ingress, `/releases/${order.id}/run`, order)) as Outcome,
    rollBack: async (order: Order) => {
      await post(ingress, `/releases/${order.id}/rollBack`);
    },
    restartWorker: async () => {
      await kill(worker);
      await startWorker();
    },
    workerPid: () => Promise.resolve(worker.pid ?? 0),
    events: async ({ id }: Order) => {
      const query = `SELECT count(*) AS entries FROM sys_journal j JOIN sys_invocation i ON j.id = i.id WHERE i.target_service_key = '${id}'`;
      const { rows } = JSON.parse(await post(admin, '/query', { query })) as {
        rows: { entries: number }[];
      };
      return rows[0]?.entries ?? 0;
    },
    close: async () => {
      await kill(worker);
      await kill(server);
    },
  });
}

/** The server's program in its package. The package's own command would add a Node process. */
function program(): string {
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}/package.json`;
  return join(dirname(createRequire(import.meta.url).resolve(name)), 'bin', 'restate-server');
}

async function healthy(admin: number, ingress: number): Promise<void> {
  for (const url of [`http://127.0.0.1:${admin}/health`, `http://127.0.0.1:${ingress}/restate/health`]) {
    const { statusCode, body } = await request(url, { dispatcher });
    await body.dump();
    if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`);
  }
}

/** Registers the application with the server, which may need a moment after it is healthy. */
async function register(admin: number, application: number): Promise<void> {
  for (let turn = 1; ; turn++) {
    try {
      await post(admin, '/deployments', { uri: `http://127.0.0.1:${application}`, force: true });
      return;
    } catch (error) {
      if (turn === REGISTER_TRIES) throw error;
      await delay(REGISTER_EVERY_MS);
    }
  }
}

async function post(port: number, path: string, content?: object): Promise<string> {
  const { statusCode, body } = await request(`http://127.0.0.1:${port}${path}`, {
    dispatcher,
    method: 'POST',
    headers: {
      accept: 'application/json',
      ...(content === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: content === undefined ? null : JSON.stringify(content),
  });
  const text = await body.text();
  if (statusCode >= 300) throw new Error(`${path} was answered with ${statusCode}: ${text}`);
  return text;
}
