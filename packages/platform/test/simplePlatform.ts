import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { create } from 'tar';
import { expect, vi } from 'vitest';

import type { ControlPlaneClient } from '../../../src/clients/controlPlane.ts';
import { FROM_SOURCE } from '../../../test/support/fromSource.ts';

/** A platform from the sources on the given home, whose agents are the `agent.mjs` of their sources. */
export const SIMPLE_PLATFORM: readonly string[] = [
  ...FROM_SOURCE,
  fileURLToPath(new URL('./fixtures/simplePlatform.ts', import.meta.url)),
];

/** Starts a platform with a command. @returns its first line; throws with its output if it ends. */
export async function startByCommand(
  [program, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv = {},
): Promise<{ child: ChildProcess; ready: Partial<Record<string, string>> }> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, SLIPWAY_LOG_LEVEL: 'warn', ...env },
  });
  const errors: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([first]) => String(first)),
    once(child, 'exit').then(() => {
      throw new Error(`The platform ended:\n${errors.join('\n')}`);
    }),
  ]);
  return { child, ready: JSON.parse(line) as Partial<Record<string, string>> };
}

/**
 * A source whose agent answers with its version. While a file named by the secret GATE and `-start` or `-request`
 * exists, its start or a request to `/wait` waits, and creates a file with that name and `.met`.
 */
export async function simpleSource(
  folder: string,
  version: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const directory = await mkdtemp(join(folder, 'source-'));
  const files = {
    'graph.json': JSON.stringify({ graphs: { agent: './graph.mjs:graph' } }),
    'graph.mjs': 'export const graph = {};',
    'agent.mjs': AGENT.replace('VERSION', version),
    ...more,
  };
  for (const [name, content] of Object.entries(files)) await writeFile(join(directory, name), content);
  return new Uint8Array(await buffer(create({ gzip: true, cwd: directory }, Object.keys(files))));
}

/** Releases a version of the simple source. @returns the revision's id. */
export async function releaseSimple(
  client: ControlPlaneClient,
  deploymentId: string,
  ...source: Parameters<typeof simpleSource>
): Promise<string> {
  const { upload_url, object_path } = await client.createUploadUrl(deploymentId);
  const { status } = await fetch(upload_url, { method: 'PUT', body: await simpleSource(...source) });
  expect(status).toBe(200);
  const { latest_revision_id } = await client.patchDeployment(deploymentId, {
    source_revision_config: { source_tarball_path: object_path },
  });
  return latest_revision_id ?? '';
}

export async function revisionReaches(
  client: ControlPlaneClient,
  [deploymentId, revisionId]: readonly [string, string],
  status: string,
): Promise<void> {
  await vi.waitFor(
    async () => expect(await client.getRevision(deploymentId, revisionId)).toMatchObject({ status }),
    { timeout: 60_000, interval: 50 },
  );
}

const AGENT = `
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
process.stdin.resume().on('end', () => process.exit(0));
const pass = async (gate) => {
  if (existsSync(gate)) writeFileSync(gate + '.met', '');
  while (existsSync(gate)) await sleep(20);
};
await pass(process.env.GATE + '-start');
const server = createServer(async (request, response) => {
  if (request.url === '/wait') await pass(process.env.GATE + '-request');
  response.end('VERSION');
});
process.on('SIGTERM', () => server.close(() => process.exit(0)));
server.listen(0, '127.0.0.1', () =>
  console.log(JSON.stringify({ event: 'ready', url: 'http://127.0.0.1:' + server.address().port })),
);
`;
