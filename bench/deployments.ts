// 100 deployments with 10 revisions each: how long it takes to read, list and patch them. bench/README.md says what is
// measured and what is not.
//
//   npm run bench -- deployments [--count 2000] [--clients 4]

import { numbersOf, say, sayResult, summarize, type Summary, table } from './statistics.ts';
import { type BenchedDeployment, newDeployment, startPlatformUnderLoad } from './platformUnderLoad.ts';

const AIM_MS = 20;
const DEPLOYMENTS = 100;
const REVISIONS = 10;
/** The first requests open connections and warm up the JIT compiler. */
const WARM_UP = 200;

const { count, clients } = numbersOf({ count: 2_000, clients: 4 });

const platform = await startPlatformUnderLoad();
try {
  say(`making ${DEPLOYMENTS} deployments with ${REVISIONS} revisions each`);
  const deployments = await makeDeployments();
  const alone = await measure('one client', 1, deployments);
  const together = await measure(`${clients} clients`, clients, deployments);
  report([...alone, ...together]);
} finally {
  await platform.close();
}

interface Result {
  readonly request: string;
  readonly clients: number;
  readonly isRead: boolean;
  readonly summary: Summary;
}

async function makeDeployments(): Promise<BenchedDeployment[]> {
  return Promise.all(
    Array.from({ length: DEPLOYMENTS }, async (_, number) => {
      const { answer } = await platform.call('POST', '/v2/deployments', newDeployment(`bench-${number}`));
      let latest = answer as BenchedDeployment;
      for (let revision = 1; revision < REVISIONS; revision++) latest = await patch(latest.id, revision);
      return latest;
    }),
  );
}

/** Creates a revision. It has nothing to build, so it stays idle and is skipped when the next one is created. */
async function patch(id: string, turn: number): Promise<BenchedDeployment> {
  const { answer } = await platform.call('PATCH', `/v2/deployments/${id}`, patchOf(turn));
  return answer as BenchedDeployment;
}

function patchOf(turn: number): object {
  return { source_revision_config: { graph_config_path: `graphs/${turn}/graph.json` } };
}

/**
 * The mix of 20 requests: ten deployments, five revisions, two lists of revisions, two lists of deployments, one PATCH.
 */
function requestOf(turn: number, deployments: readonly BenchedDeployment[]): () => Promise<[string, number]> {
  const deployment = deployments[(turn * 37) % deployments.length];
  if (deployment === undefined) throw new Error('there are no deployments');
  const { id, latest_revision_id: revision } = deployment;
  const timed = (name: string, path: string) => async (): Promise<[string, number]> => [
    name,
    (await platform.call('GET', path)).ms,
  ];
  const place = turn % 20;
  if (place < 10) return timed('GET a deployment', `/v2/deployments/${id}`);
  if (place < 15) return timed('GET a revision', `/v2/deployments/${id}/revisions/${revision}`);
  if (place < 17) return timed('GET the revisions of one', `/v2/deployments/${id}/revisions`);
  if (place === 17) return timed('GET 20 deployments', '/v2/deployments');
  if (place === 18) return timed(`GET all ${DEPLOYMENTS} deployments`, '/v2/deployments?limit=100');
  return async () => [
    'PATCH, with a new revision',
    (await platform.call('PATCH', `/v2/deployments/${id}`, patchOf(turn))).ms,
  ];
}

async function measure(
  name: string,
  at: number,
  deployments: readonly BenchedDeployment[],
): Promise<Result[]> {
  say(`${name}: ${count} requests, after ${WARM_UP} that do not count`);
  const times = new Map<string, number[]>();
  let next = 0;
  const client = async (): Promise<void> => {
    for (let turn = next++; turn < WARM_UP + count; turn = next++) {
      const [request, ms] = await requestOf(turn, deployments)();
      if (turn >= WARM_UP) times.set(request, [...(times.get(request) ?? []), ms]);
    }
  };
  await Promise.all(Array.from({ length: at }, client));
  return [...times].map(([request, series]) => ({
    request,
    clients: at,
    isRead: request.startsWith('GET'),
    summary: summarize(series),
  }));
}

function report(results: readonly Result[]): void {
  const rows = [
    ['request', 'clients', 'median', 'p99', 'longest'],
    ...results.map(({ request, clients: at, summary }) => [
      request,
      String(at),
      ...[summary.medianMs, summary.p99Ms, summary.maxMs].map((ms) => `${ms.toFixed(1)} ms`),
    ]),
  ];
  const within = [...new Set(results.map((result) => result.clients))].map((at) => ({
    clients: at,
    reached: results
      .filter(({ isRead, clients: by }) => isRead && by === at)
      .every(({ summary }) => summary.p99Ms < AIM_MS),
  }));
  const verdicts = within.map(
    ({ clients: at, reached }) =>
      `${at === 1 ? 'one client' : `${at} clients`}: ${reached ? '' : 'not '}reached`,
  );
  say(
    `\n${table(rows)}\n\nThe aim, every GET under ${AIM_MS} ms for 99 of 100, by ${verdicts.join('; by ')}.\n`,
  );
  sayResult('deployments', { aimMs: AIM_MS, within, results });
}
