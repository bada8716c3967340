import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { create } from 'tar';
import { Pool } from 'undici';

import { FROM_SOURCE } from '../test/support/fromSource.ts';

/** A real platform in its own process, and its client with open connections. */
export interface PlatformUnderLoad {
  readonly url: string;
  readonly pid: number;
  /** Its home, in a temporary folder that is removed with it. */
  readonly home: string;
  /**
   * Sends one request. @returns the parsed answer, and the time until its last byte. @throws Error unless it is 2xx.
   */
  call(method: Method, path: string, body?: unknown): Promise<{ answer: unknown; ms: number }>;
  close(): Promise<void>;
}

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** The fields of a deployment that benchmarks read. */
export interface BenchedDeployment {
  readonly id: string;
  readonly latest_revision_id: string;
  readonly active_revision_id: string | null;
}

/** Starts a platform in an empty home, with the embedded database or that of `DATABASE_URL`. */
export async function startPlatformUnderLoad(): Promise<PlatformUnderLoad> {
  const home = await mkdtemp(join(tmpdir(), 'slipway-bench-'));
  const script = fileURLToPath(new URL('./platformProcess.ts', import.meta.url));
  const child = spawn(process.execPath, [...FROM_SOURCE, script, home], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([first]) => String(first)),
    ended.then(([code]) => {
      throw new Error(`the platform ended with ${String(code)}`);
    }),
  ]);
  const { url, apiKey, pid } = JSON.parse(line) as { url: string; apiKey: string; pid: number };
  const pool = new Pool(url, { connections: 256 });
  return {
    url,
    pid,
    home,
    call: async (method, path, body) => {
      const from = performance.now();
      const { statusCode, body: read } = await pool.request({
        method,
        path,
        headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await read.text();
      const ms = performance.now() - from;
      if (statusCode >= 300) throw new Error(`${method} ${path}: ${String(statusCode)} ${text}`);
      return { answer: text === '' ? undefined : (JSON.parse(text) as unknown), ms };
    },
    close: async () => {
      await pool.close();
      child.stdin.end();
      await ended;
      await rm(home, { recursive: true, force: true });
    },
  };
}

/**
 * Uploads an agent's source (the content of `graph.mjs`), and PATCHes a deployment to it. @returns the new revision.
 */
export async function deploySource(
  { call }: Pick<PlatformUnderLoad, 'call'>,
  id: string,
  graph: string,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-bench-source-'));
  await writeFile(join(folder, 'graph.json'), JSON.stringify({ graphs: { agent: './graph.mjs:graph' } }));
  await writeFile(join(folder, 'graph.mjs'), graph);
  const source = await buffer(create({ gzip: true, cwd: folder }, ['graph.json', 'graph.mjs']));
  await rm(folder, { recursive: true });
  const { answer: offer } = await call('POST', `/deployments/${id}/upload-url`);
  const { upload_url, object_path, upload_headers } = offer as {
    upload_url: string;
    object_path: string;
    upload_headers: Record<string, string>;
  };
  const body = new Uint8Array(source);
  const put = await fetch(upload_url, { method: 'PUT', body, headers: upload_headers });
  if (!put.ok) throw new Error(`the upload was answered ${put.status}`);
  const { answer } = await call('PATCH', `/v2/deployments/${id}`, {
    source_revision_config: { source_tarball_path: object_path },
  });
  return (answer as BenchedDeployment).latest_revision_id;
}

/** The request body that creates a deployment of source `internal_source`. */
export function newDeployment(name: string, sourceConfig: Record<string, unknown> = {}): object {
  return {
    name,
    source: 'internal_source',
    source_config: sourceConfig,
    source_revision_config: { graph_config_path: 'graph.json' },
    secrets: [{ name: 'MODEL_KEY', value: 'a secret of the usual length, sealed at rest' }],
  };
}
