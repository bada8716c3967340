import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { createGateway } from '../../src/gateway/gateway.ts';
import { type AgentProcess, startAgent } from '../../src/runtime/agentProcess.ts';
import { until } from '../runtime/liveness.ts';
import { serveGateway } from './standIns.ts';

const AGENT = fileURLToPath(new URL('../runtime/fixtures/agent.mjs', import.meta.url));

it('switches between real agents under load, draining or killing each, and fails no read', async () => {
  const agentDir = await mkdtemp(join(tmpdir(), 'slipway-switch-'));
  const gateway = createGateway();
  const front = await serveGateway(gateway);
  let over = false;
  let answered = 0;
  const failures: string[] = [];
  const start = () =>
    startAgent({
      agentDir,
      graphConfigPath: 'graph.json',
      env: {},
      log: () => undefined,
      signal: new AbortController().signal,
      readyTimeoutMs: 20_000,
      command: [process.execPath, AGENT],
    });
  const serve = (agent: AgentProcess) =>
    gateway.switchTo('d1', { url: agent.url, revisionId: String(agent.pid), exited: agent.exited });
  const client = async () => {
    while (!over) {
      const answer = await fetch(`${front.url}/agents/d1/threads`).catch((error: unknown) => String(error));
      if (typeof answer === 'string') failures.push(answer);
      else if (answer.ok) answered += 1;
      else failures.push(`${String(answer.status)} ${await answer.text()}`);
    }
  };
  let current = await start();
  void serve(current);
  const clients = Array.from({ length: 4 }, client);
  try {
    for (const isCrash of [false, true, false, true]) {
      const before = answered;
      if (isCrash) {
        current.kill();
        await current.exited;
        gateway.register('d1', { starting: true });
      }
      const next = await start();
      await serve(next);
      await current.drain(5_000);
      current = next;
      await until('requests on the new agent', () => answered > before + 20);
    }
  } finally {
    over = true;
    await Promise.all(clients);
    await gateway.close();
    current.kill();
    await current.exited;
    await front.kill();
    await rm(agentDir, { recursive: true });
  }
  expect(failures).toEqual([]);
});
