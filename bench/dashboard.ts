// The page with many targets and releases: how soon a browser shows it, how soon it shows a change, and the cost of
// many open pages. bench/README.md says what is measured and what is not. `npm run build` first: the worker and the page
// that has just started run from `dist/`.
//
//   npx tsx --conditions=@slipway/source bench/dashboard.ts [--releases 1000] [--targets 50] [--pages 200] [--count 10]
import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import pLimit from 'p-limit';
import type { Browser, Page } from 'playwright-core';

import type { TarballArtifact } from '../src/domain/artifact/artifact.ts';
import type { ReleaseRequest, ReleaseResult } from '../src/domain/release/release.ts';
import { targetWorkflowId } from '../src/domain/target/targetSpec.ts';
import { submitRelease } from '../src/temporal/client/target/targetClient.ts';
import { launchChromium } from '../test/support/chromium.ts';
import { FROM_SOURCE } from '../test/support/fromSource.ts';
import type { Counted, DashboardProcessSettings, Started } from './dashboardProcess.ts';
import { startTemporal } from './engine.ts';
import { kill } from './peers/processes.ts';
import { KEY_VARIABLE, putArtifact, releaseRequest, releaseResult } from './release.ts';
import { type StandInDeployment, startStandIn } from './standIn.ts';
import { numbersOf, say, sayResult, summarize, type Summary, table } from './statistics.ts';
import { startSlipway, startWorker } from './workerProcess.ts';

const LOOK_EVERY_MS = 20;
/** How many targets release at the same time. */
const LANES = 10;
const READY_WITHIN_MS = 30_000;
/** How long no page is open, while the server still watches the targets, and how many pages are loaded after that. */
const UNWATCHED_MS = 31_000;
const UNWATCHED = 4;
/** Shorter steps are not counted: a person could not see them. */
const SHORTEST_STEP_MS = 700;
/** How long queries are counted, and how many releases run meanwhile. */
const COUNTED_MS = 20_000;
const COUNTED_RELEASES = 3;
/** The page's performance goals. */
const AIM = { paintMs: 500, usableMs: 1_000, changeMs: 300, memoryMiB: 100, weightBytes: 100_000 };

/** Runs in the browser. A static page is usable once its scripts have run. */
const NOTE_USABLE = `
const note = () => {
  const isReading = [...document.querySelectorAll('.chip')].some((chip) => chip.textContent === 'reading');
  if (!isReading) window.usableMs ??= performance.now();
};
document.addEventListener('slipway:changed', note);
window.addEventListener('load', () => document.body.dataset.live === undefined && note());
`;

/**
 * Runs in the browser: records when each step of each release was first shown as running, in milliseconds since 1970.
 */
const NOTE_STEPS = `
window.stepsSeen = {};
const noteSteps = () => {
  const at = Date.now();
  for (const strip of document.querySelectorAll('.under-way .strip')) {
    const release = strip.closest('.under-way').querySelector('a').getAttribute('href');
    [...strip.children].forEach((step, index) => {
      if (step.className.includes('running')) window.stepsSeen[release + ' ' + index] ??= at;
    });
  }
};
noteSteps();
new MutationObserver(noteSteps).observe(document.body, { subtree: true, childList: true });
`;

const { releases, targets, pages, count } = numbersOf({
  releases: 1_000,
  targets: 50,
  pages: 200,
  count: 10,
});

interface Target {
  readonly workflowId: string;
  readonly deployment: StandInDeployment;
  readonly request: ReleaseRequest;
}

process.env[KEY_VARIABLE] = randomUUID();
const services = await startStandIn();
const engine = await startTemporal(say);
const { temporal } = engine;
const worker = await startWorker(engine, 'home');
let browser: Browser | undefined;
let dashboard: RunningDashboard | undefined;
try {
  const artifact = await putArtifact(engine.folder);
  const all = Array.from({ length: targets }, (_, index) => makeTarget(index, artifact));
  say(`${releases} releases on ${targets} targets`);
  const from = performance.now();
  await pLimit(LANES).map(all, async (target, index) => {
    const share = Math.floor(releases / targets) + (index < releases % targets ? 1 : 0);
    for (let turn = 0; turn < share; turn++) await release(target);
  });
  say(`done after ${Math.round((performance.now() - from) / 1_000)} s`);
  browser = await launchChromium();

  const first = all[0] as Target;
  const cold: Loaded[] = [];
  for (let turn = 0; turn < count; turn++) {
    const { child, event } = await startSlipway(engine, 'page', ['dashboard', '--port', '0']);
    cold.push(await load(browser, (event as { readonly dashboard: string }).dashboard, '/'));
    await kill(child);
  }
  const running = (dashboard = await startDashboardProcess());
  const targetPath = `/targets/${encodeURIComponent(first.workflowId)}`;
  const unwatched: Loaded[] = [];
  for (let turn = 0; turn < Math.min(count, UNWATCHED); turn++) {
    await delay(UNWATCHED_MS);
    unwatched.push(await load(browser, running.url, '/'));
  }
  const loaded: [string, readonly Loaded[]][] = [
    ['all targets, the first page of a server', cold],
    ['all targets, after 31 s without a page', unwatched],
  ];
  for (const [name, path] of [
    ['all targets', '/'],
    ['one target', targetPath],
    ['history', '/history'],
    ['a release', `/releases/${encodeURIComponent(first.workflowId)}/release-1`],
  ] as const) {
    const loads: Loaded[] = [];
    for (let turn = 0; turn < count; turn++) loads.push(await load(browser, running.url, path));
    loaded.push([name, loads]);
  }
  say('pages are loaded; changes follow');
  const changes = await watchChanges(browser, running.url, all.slice(0, count));
  say('changes are seen; open pages follow');
  const cost = await openMany(running, all);
  report(loaded, changes, cost);
} finally {
  await browser?.close();
  await dashboard?.end();
  worker.kill('SIGKILL');
  await engine.close();
  await services.close();
}

interface RunningDashboard {
  readonly url: string;
  count(): Promise<Counted>;
  end(): Promise<void>;
}

async function startDashboardProcess(): Promise<RunningDashboard> {
  const { address, namespace, taskQueue } = temporal.settings;
  const settings: DashboardProcessSettings = {
    address,
    namespace,
    taskQueue,
    folder: join(engine.folder, 'page'),
  };
  const script = fileURLToPath(new URL('./dashboardProcess.ts', import.meta.url));
  const child: ChildProcess = fork(script, [JSON.stringify(settings)], {
    execArgv: [...FROM_SOURCE, '--expose-gc'],
  });
  const [{ url }] = (await once(child, 'message')) as [Started];
  return {
    url,
    count: async () => {
      const answered = once(child, 'message');
      child.send('count');
      const [counted] = (await answered) as [Counted];
      return counted;
    },
    end: () => kill(child),
  };
}

function makeTarget(index: number, artifact: TarballArtifact): Target {
  const deployment = services.deploy(`target-${String(index).padStart(2, '0')}`, 'answers rightly');
  const request = releaseRequest(services.url, deployment, artifact);
  return { deployment, request, workflowId: targetWorkflowId(request.target) };
}

/** Runs a release to its end. @returns the result. */
async function release(
  { request, workflowId }: Target,
  differing: Partial<ReleaseRequest> = {},
): Promise<ReleaseResult> {
  const asked = { ...request, requestKey: `sha256:${randomUUID()}`, ...differing };
  const { releaseId } = await submitRelease(temporal, asked);
  const result = await releaseResult(temporal, `${workflowId}/${releaseId}`);
  if (result.outcome !== 'released') throw new Error(`${releaseId} ended ${result.outcome}`);
  return result;
}

/** The load times of one page, in milliseconds since the request. */
interface Loaded {
  readonly paintMs: number;
  /** Every part shows its state, and changes arrive. */
  readonly usableMs: number;
  /** Bytes on the wire: the page and its resources. */
  readonly bytes: number;
}

/** Loads a page in a browser without a cache. */
async function load(inBrowser: Browser, url: string, path: string): Promise<Loaded> {
  const context = await inBrowser.newContext({ viewport: { width: 1_440, height: 900 } });
  try {
    const page = await context.newPage();
    let bytes = 0;
    const wire = await context.newCDPSession(page);
    await wire.send('Network.enable');
    wire.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
    await page.addInitScript(NOTE_USABLE);
    await page.goto(url + path);
    await untilUsable(page);
    const [paintMs, usableMs] = await page.evaluate<[number, number]>(
      `[performance.getEntriesByName('first-contentful-paint')[0].startTime, window.usableMs]`,
    );
    return { paintMs, usableMs, bytes };
  } finally {
    await context.close();
  }
}

async function untilUsable(page: Page): Promise<void> {
  const until = Date.now() + READY_WITHIN_MS;
  // A headless browser may paint only after that.
  const isShown = `window.usableMs !== undefined && performance.getEntriesByName('first-contentful-paint').length > 0`;
  while (!(await page.evaluate<boolean>(isShown))) {
    if (Date.now() > until) throw new Error(`${page.url()} did not become usable`);
    await delay(LOOK_EVERY_MS);
  }
}

/** The time from the workflow task that starts a step until the page of all targets shows it. */
async function watchChanges(inBrowser: Browser, url: string, some: readonly Target[]): Promise<Summary> {
  const context = await inBrowser.newContext({ viewport: { width: 1_440, height: 900 } });
  try {
    const page = await context.newPage();
    await page.addInitScript(NOTE_USABLE);
    await page.goto(url);
    await untilUsable(page);
    await page.evaluate(NOTE_STEPS);
    const changes: number[] = [];
    for (const target of some) changes.push(...(await changesOf(page, target)));
    return summarize(changes);
  } finally {
    await context.close();
  }
}

/** Runs one release, slowly enough to see its steps. */
async function changesOf(page: Page, target: Target): Promise<number[]> {
  target.deployment.deploysAfterMs = 3 * SHORTEST_STEP_MS;
  const { releaseId, steps } = await release(target, { soakMs: 2 * SHORTEST_STEP_MS });
  const seen = await page.evaluate<Record<string, number>>('window.stepsSeen');
  const path = `/releases/${encodeURIComponent(target.workflowId)}/${releaseId}`;
  return steps.flatMap(({ startedAt, endedAt }, index) => {
    const began = Date.parse(startedAt);
    if (endedAt === undefined || Date.parse(endedAt) - began < SHORTEST_STEP_MS) return [];
    const at = seen[`${path} ${index}`];
    if (at === undefined) throw new Error(`step ${index + 1} of ${releaseId} was not shown`);
    return [at - began];
  });
}

interface Cost {
  readonly memoryMiB: number;
  /** Calls to Temporal within {@link COUNTED_MS}, for one open page and for all of them. */
  readonly one: Readonly<Record<string, number>>;
  readonly many: Readonly<Record<string, number>>;
}

/** Opens many pages: half of them show all targets, the others one target each. */
async function openMany(running: RunningDashboard, all: readonly Target[]): Promise<Cost> {
  const agent = new Agent({ keepAlive: true });
  const paths = Array.from({ length: pages }, (_, index) => {
    const target = all[index % all.length] as Target;
    return index % 2 === 0 ? '/live/targets' : `/live/targets/${encodeURIComponent(target.workflowId)}`;
  });
  const opened: IncomingMessage[] = [];
  try {
    opened.push(await openLive(agent, running.url, '/live/targets'));
    const one = await callsMeanwhile(running, all);
    const { memoryBytes: before } = await running.count();
    for (const path of paths.slice(1)) opened.push(await openLive(agent, running.url, path));
    const many = await callsMeanwhile(running, all);
    const { memoryBytes: after } = await running.count();
    return { one, many, memoryMiB: Math.round((after - before) / 2 ** 20) };
  } finally {
    for (const each of opened) each.destroy();
    agent.destroy();
  }
}

/** Opens a live page. Resolves with its first part. */
async function openLive(agent: Agent, url: string, path: string): Promise<IncomingMessage> {
  const [response] = (await once(get(url + path, { agent }), 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`${path} answered ${response.statusCode ?? 0}`);
  response.resume();
  response.on('error', () => undefined);
  await once(response, 'data');
  return response;
}

/** Counts the calls to Temporal while a few targets release. */
async function callsMeanwhile(running: RunningDashboard, all: readonly Target[]) {
  const before = await running.count();
  const until = delay(COUNTED_MS);
  for (const target of all.slice(0, COUNTED_RELEASES)) await release(target);
  await until;
  const after = await running.count();
  return Object.fromEntries(
    Object.entries(after.calls).flatMap(([name, calls]) => {
      const more = calls - (before.calls[name] ?? 0);
      return more === 0 ? [] : [[name, more]];
    }),
  );
}

function report(loaded: readonly [string, readonly Loaded[]][], changes: Summary, cost: Cost): void {
  const rows = loaded.map(([name, loads]) => ({
    name,
    paint: summarize(loads.map(({ paintMs }) => paintMs)),
    usable: summarize(loads.map(({ usableMs }) => usableMs)),
    bytes: Math.max(...loads.map(({ bytes }) => bytes)),
  }));
  say(
    `\n${table([
      ['', 'first paint', 'p95', 'usable', 'p95', 'over the wire'],
      ...rows.map(({ name, paint, usable, bytes }) => [
        name,
        ...[paint.medianMs, paint.p95Ms, usable.medianMs, usable.p95Ms].map((ms) => `${Math.round(ms)} ms`),
        `${(bytes / 1_000).toFixed(1)} kB`,
      ]),
    ])}\n`,
  );
  say(`a step's change, ${changes.count} of them: median ${changes.medianMs} ms, p95 ${changes.p95Ms} ms`);
  say(`${pages} open pages: ${cost.memoryMiB} MiB more than one`);
  const queries = (calls: Cost['one']): number => calls['QueryWorkflow'] ?? 0;
  const sum = (calls: Cost['one']): number => Object.values(calls).reduce((all, more) => all + more, 0);
  say(`within ${COUNTED_MS / 1_000} s, one page: ${queries(cost.one)} queries, ${sum(cost.one)} calls`);
  say(`${pages} pages: ${queries(cost.many)} queries, ${sum(cost.many)} calls of Temporal`);
  const reached = {
    paint: rows.every(({ paint }) => paint.p95Ms < AIM.paintMs),
    usable: rows.every(({ usable }) => usable.p95Ms < AIM.usableMs),
    change: changes.p95Ms < AIM.changeMs,
    memory: cost.memoryMiB < AIM.memoryMiB,
    weight: rows.every(({ bytes }) => bytes < AIM.weightBytes),
  };
  say(`aims: ${JSON.stringify(AIM)}; reached: ${JSON.stringify(reached)}`);
  sayResult('dashboard', { releases, targets, pages, rows, changes, cost, aim: AIM, reached });
}
