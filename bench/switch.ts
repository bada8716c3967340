// Switches between the revisions of a real agent under a steady load of requests: how many fail, and how long they take.
// bench/README.md says what is measured and what is not.
//
//   npm run bench -- switch [--rate 200] [--switches 4]
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { numbersOf, say, sayResult, summarize, table } from './statistics.ts';
import {
  type BenchedDeployment,
  deploySource,
  newDeployment,
  startPlatformUnderLoad,
} from './platformUnderLoad.ts';

const NODE_MODULES = fileURLToPath(new URL('../node_modules', import.meta.url));
const TICK_MS = 20;

const GRAPH = `
import { Annotation, StateGraph } from '@langchain/langgraph';
export const graph = new StateGraph(Annotation.Root({ said: Annotation() }))
  .addNode('greet', () => ({ said: 'VERSION' }))
  .addEdge('__start__', 'greet')
  .compile();
`;

const { rate, switches } = numbersOf({ rate: 200, switches: 4 });

const platform = await startPlatformUnderLoad();
try {
  const install = { install_command: `ln -s '${NODE_MODULES}' node_modules` };
  const { answer } = await platform.call('POST', '/v2/deployments', newDeployment('switch', install));
  const { id } = answer as BenchedDeployment;
  say('deploying two revisions of a real agent');
  const revisions = [await release(id, 'one'), await release(id, 'two')];
  const load = startLoad(id);
  for (let turn = 0; turn < switches; turn++) {
    const revision = revisions[turn % 2] ?? '';
    await platform.call('POST', `/v2/deployments/${id}/revisions/${revision}/redeploy`);
    await deployed(id, revision);
    say(`switch ${turn + 1} of ${switches}`);
  }
  report(await load.stop());
} finally {
  await platform.close();
}

async function release(id: string, version: string): Promise<string> {
  const revision = await deploySource(platform, id, GRAPH.replace('VERSION', version));
  await deployed(id, revision);
  return revision;
}

async function deployed(id: string, revision: string): Promise<void> {
  for (;;) {
    const { answer } = await platform.call('GET', `/v2/deployments/${id}/revisions/${revision}`);
    const { status, status_message } = answer as { status: string; status_message: string | null };
    if (status === 'DEPLOYED') return;
    if (/FAILED|SKIPPED|INTERRUPTED/.test(status)) throw new Error(`${status}: ${String(status_message)}`);
    await delay(100);
  }
}

interface Load {
  readonly reads: number[];
  readonly writes: number[];
  readonly failures: string[];
  readonly seconds: number;
}

/** Sends requests at a fixed rate, without waiting for earlier answers: three reads, then one that creates a thread. */
function startLoad(id: string): { stop: () => Promise<Load> } {
  const [reads, writes, failures]: [number[], number[], string[]] = [[], [], []];
  const underWay = new Set<Promise<void>>();
  const began = performance.now();
  let sent = 0;
  const send = async (isWrite: boolean): Promise<void> => {
    try {
      const path = `/agents/${id}/${isWrite ? 'threads' : 'info'}`;
      const { ms } = await platform.call(isWrite ? 'POST' : 'GET', path, isWrite ? {} : undefined);
      (isWrite ? writes : reads).push(ms);
    } catch (error) {
      failures.push(String(error));
    }
  };
  const tick = setInterval(() => {
    const due = Math.floor(((performance.now() - began) / 1_000) * rate);
    for (; sent < due; sent++) {
      const request = send(sent % 4 === 3).finally(() => underWay.delete(request));
      underWay.add(request);
    }
  }, TICK_MS);
  return {
    stop: async () => {
      clearInterval(tick);
      const seconds = (performance.now() - began) / 1_000;
      await Promise.all(underWay);
      return { reads, writes, failures, seconds };
    },
  };
}

function report({ reads, writes, failures, seconds }: Load): void {
  const answered = reads.length + writes.length;
  const results = { 'GET /info': summarize(reads), 'POST /threads': summarize(writes) };
  const rows = [
    ['request', 'answered', 'median', 'p99', 'longest'],
    ...Object.entries(results).map(([name, { count, medianMs, p99Ms, maxMs }]) => [
      name,
      String(count),
      ...[medianMs, p99Ms, maxMs].map((ms) => `${ms.toFixed(1)} ms`),
    ]),
  ];
  const perSecond = Math.round(answered / seconds);
  say(
    `\n${table(rows)}\n\n${switches} switches at ${perSecond} requests a second: ${failures.length} failed.\n`,
  );
  for (const failure of failures.slice(0, 5)) say(failure);
  sayResult('switch', { switches, perSecond, answered, failed: failures.length, results });
  if (failures.length > 0) process.exitCode = 1;
}
