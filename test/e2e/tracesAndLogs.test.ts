import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Observer } from './observer.ts';
import { OtlpReceiver, type ReceivedSpan } from './otlpReceiver.ts';
import { Project } from './project.ts';
import { meet, PASS, REQUESTS } from './faultProxy.ts';
import { slipway } from './processes.ts';
import { eventually, Stack } from './stack.ts';

const DEPLOYMENT = 'traced';
const SECRET = 'a-secret-of-the-deployment-9f2c';

let stack: Stack;
let receiver: OtlpReceiver;
let project: Project;
let seen: Observer;
/** The logs of ended workers. */
let workerLogs = '';

beforeAll(async () => {
  receiver = await OtlpReceiver.start();
  stack = await Stack.start(receiver.env, { env: { ...receiver.env, AGENT_TOKEN: SECRET } });
  project = await Project.create(stack, {
    example: { says: `Hello Ada ${SECRET}` },
    deployment: DEPLOYMENT,
    target: { secrets: [{ name: 'AGENT_TOKEN', from: 'env:AGENT_TOKEN' }] },
  });
  seen = new Observer(stack, DEPLOYMENT);
});

afterAll(async () => {
  await stack.stop();
  await receiver.close();
});

/** The trace of a release, once its last span has arrived. */
async function traceOf(release: string): Promise<readonly ReceivedSpan[]> {
  const isOwn = ({ name, attributes }: ReceivedSpan): boolean =>
    name === 'release staging' && attributes['slipway.release'] === release;
  const own = await eventually(() => {
    const span = receiver.spans.find(isOwn);
    if (span === undefined) throw new Error(`no span of ${release}`);
    return span;
  });
  return eventually(() => {
    const spans = receiver.trace(own.traceId);
    if (!spans.some(({ name }) => name === 'slipway release')) throw new Error(`no span of the command`);
    return spans;
  });
}

/** The trace of a release once it is one tree: a process may send a span before the one around it. */
async function treeOf(release: string): Promise<readonly ReceivedSpan[]> {
  const spans = await eventually(async () => {
    const arrived = await traceOf(release);
    const ids = new Set(arrived.map(({ spanId }) => spanId));
    const roots = arrived.filter(({ parentSpanId }) => !ids.has(parentSpanId));
    expect(roots.map(({ name }) => name)).toEqual(['slipway release']);
    return arrived;
  });
  expect(new Set(spans.map(({ spanId }) => spanId)).size, 'each span came once').toBe(spans.length);
  return spans;
}

const named = (spans: readonly ReceivedSpan[], name: string): readonly ReceivedSpan[] =>
  spans.filter((span) => span.name === name);

it('a release is one trace, from the command through each activity to each call', async () => {
  const { code, text } = await project.ran('release', 'staging');
  expect(code, text).toBe(0);
  const spans = await treeOf('release-1');

  const [release] = named(spans, 'release staging');
  const { revisionId } = await seen.result('release-1');
  expect(release?.attributes).toMatchObject({
    'slipway.release': 'release-1',
    'slipway.target': 'staging',
    'slipway.outcome': 'released',
    'slipway.revision': revisionId,
  });
  expect(release?.isError).toBe(false);
  for (const activity of ['findDeployment', 'createDeployment', 'uploadArtifact', 'patchDeployment']) {
    const [span] = named(spans, activity);
    expect(span?.parentSpanId, activity).toBe(release?.spanId);
    expect(span?.attributes, activity).toMatchObject({
      'slipway.release': 'release-1',
      'slipway.attempt': 1,
    });
  }
  expect(named(spans, 'patchDeployment')[0]?.attributes['slipway.step']).toBe('patch');
  const [check] = named(spans, 'runCheck');
  expect(check?.attributes).toMatchObject({ 'slipway.step': 'check', 'slipway.revision': revisionId });

  const calls = spans.filter(({ service }) => service === 'slipway-worker');
  const [patch] = named(calls, 'PATCH /v2/deployments/{deployment_id}');
  expect(patch?.parentSpanId).toBe(named(spans, 'patchDeployment')[0]?.spanId);
  expect(patch?.attributes).toMatchObject({
    'http.request.method': 'PATCH',
    'http.response.status_code': 200,
    'url.template': '/v2/deployments/{deployment_id}',
    'server.address': '127.0.0.1',
  });
  expect(named(spans, 'PUT /(signed upload URL)')).toHaveLength(1);
  expect(calls.filter(({ name }) => name.endsWith('/runs/stream'))[0]?.parentSpanId).toBe(check?.spanId);

  // The platform's spans, and the file from which the documentation's picture is drawn (`scripts/drawTrace.mjs`).
  const answered = await eventually(() => {
    const found = receiver.trace(patch!.traceId).filter(({ service }) => service === 'slipway-platform');
    if (!found.some(({ name }) => name === patch!.name)) throw new Error('no span of the platform');
    return found;
  });
  expect(answered.find(({ name }) => name === patch!.name)?.parentSpanId).toBe(patch!.spanId);
  // The agent's spans: its request is below the check's call, and the run is below the request.
  const ofAgent = await eventually(() => {
    const found = receiver.trace(patch!.traceId).filter(({ service }) => service === 'slipway-agent');
    if (!found.some(({ name }) => name === 'run')) throw new Error('no span of the run');
    return found;
  });
  const runCall = calls.find(({ name }) => name.endsWith('/runs/stream'));
  const [request] = named(ofAgent, 'POST /runs/stream');
  expect(request?.parentSpanId).toBe(runCall?.spanId);
  expect(request?.attributes).toMatchObject({
    'http.route': '/runs/stream',
    'http.response.status_code': 200,
  });
  expect(named(ofAgent, 'run')[0]).toMatchObject({
    parentSpanId: request?.spanId,
    isError: false,
    attributes: { 'slipway.run.status': 'success' },
  });
  const picture = process.env['SLIPWAY_TRACE_FILE'];
  if (picture !== undefined) await writeFile(picture, JSON.stringify(receiver.trace(patch!.traceId)));
});

it('a failed release and its restore are one trace', async () => {
  await project.use({ says: 'No.' });
  const body = JSON.stringify({ detail: `${SECRET} ${stack.apiKey}` });
  // Twice: the first attempt is one within the workflow task, unless the machine is too busy for it.
  void meet(stack.proxy, REQUESTS.uploadUrl, { kind: 'answer', status: 503, body }, 2);
  const { code, text } = await project.ran('release', 'staging');
  expect(code, text).toBe(2);
  const spans = await treeOf('release-2');
  expect(named(spans, 'release staging')[0]).toMatchObject({
    isError: true,
    attributes: { 'slipway.outcome': 'rolled_back' },
  });
  const uploads = named(spans, 'uploadArtifact').map(({ isError }) => isError);
  // A busy machine may end a try before it has sent its request.
  expect(uploads.length).toBeGreaterThanOrEqual(3);
  expect(uploads).toEqual([...uploads.slice(1).map(() => true), false]);
  const [redeploy] = named(spans, 'redeployRevision');
  expect(redeploy?.attributes['slipway.step']).toBe('redeploy');
  expect(named(spans, 'runCheck').length).toBeGreaterThan(1);
});

it('a trace continues after its worker was killed', async () => {
  await project.use({ says: 'Hello Ada, again' });
  let goOn = (): void => undefined;
  const until = new Promise<void>((resolve) => (goOn = resolve));
  const met = meet(stack.proxy, REQUESTS.run, { kind: 'hold', until }, 1);
  const released = project.run('release', 'staging');
  await met;
  // A killed worker loses the spans that it has not sent yet.
  const isPatch = ({ name, attributes }: ReceivedSpan): boolean =>
    name === 'patchDeployment' && attributes['slipway.release'] === 'release-3';
  await eventually(() => expect(receiver.spans.some(isPatch)).toBe(true));
  await stack.worker.kill();
  workerLogs = stack.worker.stderr;
  await stack.startWorker();
  stack.proxy.rule = PASS;
  goOn();
  expect(await released.exited, released.stdout + released.stderr).toBe(0);
  const spans = await traceOf('release-3');
  expect(named(spans, 'patchDeployment')).toHaveLength(1);
  const attempts = named(spans, 'runCheck').map(({ attributes }) => attributes['slipway.attempt']);
  expect(Math.max(...attempts.map(Number))).toBeGreaterThan(1);
  const [command] = named(spans, 'slipway release');
  expect(named(spans, 'release staging')[0]?.parentSpanId).toBe(command?.spanId);
});

it('a manual rollback is one trace', async () => {
  const { code, text } = await project.ran('rollback', 'staging', '--reason', 'a test');
  expect(code, text).toBe(0);
  const own = await eventually(() => {
    const [span] = named(receiver.spans, 'rollback staging');
    if (span === undefined) throw new Error('no span of the rollback');
    return span;
  });
  const names = await eventually(() => {
    const found = receiver.trace(own.traceId).map(({ name }) => name);
    if (!found.includes('slipway rollback')) throw new Error('no span of the command');
    return found;
  });
  expect(names).toContain('redeployRevision');
});

it('no span contains a secret, or the address of an upload', () => {
  expect(receiver.spans.length).toBeGreaterThan(50);
  for (const secret of [SECRET, stack.apiKey]) expect(receiver.raw.includes(secret), secret).toBe(false);
  // An upload URL is a credential: spans contain only its template.
  expect(/\/uploads\/[^{]/u.exec(receiver.raw)).toBeNull();
});

describe('slipway logs --release', () => {
  interface Line {
    readonly event: string;
    readonly source: string;
    readonly message: string;
    readonly timestamp: string | null;
    readonly revisionId: string | null;
  }

  const logOf = async (release: string, ...options: string[]) => {
    const ran = await project.ran('logs', 'staging', '--release', release, '--json', ...options);
    return { ...ran, lines: ran.process.lines as unknown as readonly Line[] };
  };
  const sourcesOf = (lines: readonly Line[], event = 'release_log'): ReadonlySet<string> =>
    new Set(lines.filter((line) => line.event === event).map(({ source }) => source));

  it('reports which sources cannot be read, and why', async () => {
    const { code, text, lines } = await logOf('release-1');
    expect(code, text).toBe(0);
    expect(sourcesOf(lines, 'log_source')).toEqual(new Set(['worker', 'platform']));
    expect(text).toContain('there is no ');
    expect(sourcesOf(lines)).toEqual(new Set(['temporal', 'build', 'deploy']));
  });

  it('merges what all processes logged about a release, by time', async () => {
    const logs = join(stack.env['SLIPWAY_HOME']!, 'logs');
    await mkdir(logs, { recursive: true });
    await writeFile(join(logs, 'worker.log'), workerLogs + stack.worker.stderr);
    await writeFile(join(logs, 'platform.log'), stack.platform.stderr);
    const { lines } = await logOf('release-2');
    expect(sourcesOf(lines, 'log_source')).toEqual(new Set());
    const own = lines.filter(({ event }) => event === 'release_log');
    expect(sourcesOf(own)).toEqual(new Set(['temporal', 'worker', 'platform', 'build', 'deploy']));
    const times = own.flatMap(({ timestamp }) => (timestamp === null ? [] : [Date.parse(timestamp)]));
    expect(times).toEqual(times.toSorted((one, other) => one - other));

    const said = (source: string): string =>
      own.flatMap((line) => (line.source === source ? [line.message] : [])).join('\n');
    expect(said('temporal')).toContain('workflow release started');
    expect(said('temporal')).toMatch(/uploadArtifact .*attempt [23] started; the one before: .*503/);
    expect(said('worker')).toMatch(/^patchDeployment is done /m);
    expect(said('platform')).toContain('a revision is deployed');
    const { revisionId } = await seen.result('release-2');
    expect(own.some((line) => line.source === 'deploy' && line.revisionId === revisionId)).toBe(true);
    const { revisionId: other } = await seen.result('release-3');
    expect(own.some((line) => line.revisionId === other)).toBe(false);
  });

  it('prints the last lines for people, with the source in a column, and follows to the end', async () => {
    const { code, text } = await project.ran(
      'logs',
      'staging',
      '--release',
      'latest',
      '--tail',
      '5',
      '--follow',
    );
    expect(code, text).toBe(0);
    const lines = text.trimEnd().split('\n');
    expect(lines).toHaveLength(5);
    expect(lines.at(-1)).toMatch(/^\d\d:\d\d:\d\d\.\d{3} temporal workflow completed: rolled_back/);
  });

  it('continues without Temporal and the control plane, with the record of the release', async () => {
    const env = { ...stack.env, TEMPORAL_ADDRESS: '127.0.0.1:1', SLIPWAY_API_KEY: '' };
    const logs = slipway(['logs', 'staging', '--release', 'release-1', '--json'], {
      env,
      cwd: project.folder,
    });
    expect(await logs.exited, logs.stderr).toBe(0);
    const lines = logs.lines as unknown as readonly Line[];
    expect(sourcesOf(lines, 'log_source')).toEqual(new Set(['temporal', 'control plane']));
    expect(logs.stdout).toContain('refuses connections');
    expect(sourcesOf(lines)).toEqual(new Set(['worker', 'platform']));
  });

  it('names the release, the target, the workflow and the trace on each line of the worker', () => {
    const { traceId } = receiver.spans.find(
      ({ name, attributes }) => name === 'release staging' && attributes['slipway.release'] === 'release-1',
    )!;
    const lines = workerLogs.split('\n').filter((line) => line.includes('/release-1"'));
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) {
      expect(JSON.parse(line)).toMatchObject({ release: 'release-1', trace_id: traceId });
    }
    const patched = lines.find((line) => line.includes('patchDeployment is done'))!;
    expect(JSON.parse(patched)).toMatchObject({ target: 'staging', step: 'patch', level: 30 });
  });

  it('no log contains a secret', () => {
    const logs = workerLogs + stack.worker.stderr + stack.platform.stderr;
    for (const secret of [SECRET, stack.apiKey]) expect(logs.includes(secret), secret).toBe(false);
  });
});

it('spans of workflows other than releases are separate traces', async () => {
  const released = new Set(named(receiver.spans, 'release staging').map(({ traceId }) => traceId));
  const others = receiver.spans.filter(({ traceId }) => !released.has(traceId));
  expect(
    others.filter(({ attributes }) => String(attributes['slipway.release']).startsWith('release')),
  ).toEqual([]);
  expect(await stack.audit()).toEqual([]);
});
