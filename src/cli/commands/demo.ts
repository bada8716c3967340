import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { isCodedError } from '@slipway/contract/codedError';

import { createRunApiClient } from '../../clients/runApi.ts';
import { loadConfig, type Project } from '../../config/loadConfig.ts';
import { answerText } from '../../domain/check/answer.ts';
import { formatDuration } from '../../domain/duration.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { Outcome } from '../../domain/release/outcome.ts';
import type { ReleaseResult } from '../../domain/release/release.ts';
import { connectTemporal } from '../../temporal/client/connection.ts';
import type { CommandContext } from '../context.ts';
import { INTERRUPTED, interruptible, untilAborted } from '../interruption.ts';
import type { Session } from '../session.ts';
import { type LocalStack, startLocalStack } from './dev/localStack.ts';
import { releaseTarget } from './release/release.ts';
import { chooseTargetSpec, readDeployment } from './target/targetAccess.ts';

const EXAMPLES = fileURLToPath(new URL('../../../examples/', import.meta.url));
const GOOD = 'greeter';
const BROKEN = join('broken', 'answers-wrongly');
const QUESTION = 'Hello, I am Ada';
const ANSWER = 'Hello, Ada!';
const RELEASE_TIMEOUT_MS = 5 * 60_000;
const RUN_TIMEOUT_MS = 30_000;

/**
 * `slipway demo`: on a fresh state, releases an example agent, releases a broken one over it, waits for the rollback,
 * and asks the restored revision a question. Prints each part; leaves nothing behind.
 * @returns 0 only if every part succeeded.
 */
export async function runDemoCommand(
  context: CommandContext,
  options: { readonly keep?: boolean },
): Promise<number> {
  const startedAt = Date.now();
  await requireExamples();
  const home = await mkdtemp(join(tmpdir(), 'slipway-demo-'));
  const { output } = context;
  return interruptible(async (signal) => {
    try {
      await withStack({ ...context, home }, signal, async (stage) => {
        await narrate(stage, startedAt);
        for (const line of lastLines(stage.stack.state.dashboard, options.keep === true)) output.print(line);
        if (options.keep === true) await untilAborted(signal);
      });
      return 0;
    } catch (error) {
      if (!signal.aborted || isCodedError(error)) throw error;
      output.event({ event: 'stopped' });
      output.note('stopped; nothing is left running');
      return INTERRUPTED;
    } finally {
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    }
  });
}

export function lastLines(dashboard: string, keeps: boolean): readonly string[] {
  return keeps
    ? [`See it on the page: ${dashboard}`, 'Everything keeps running until Ctrl-C.']
    : [
        `The page was at ${dashboard}. To keep it open at the end:`,
        '  npm run demo -- --keep    (or: slipway demo --keep)',
      ];
}

async function withStack(
  context: CommandContext,
  signal: AbortSignal,
  work: (stage: Stage) => Promise<void>,
): Promise<void> {
  const { output } = context;
  const name = `slipway-demo-${process.pid}`;
  // A shared Temporal may have other workers, which must not take this demo's tasks.
  const environment = { ...context.environment, SLIPWAY_TASK_QUEUE: name };
  const stack = await startLocalStack({
    home: context.home,
    environment,
    ports: { platform: 0, temporal: 0, temporalUi: 0, dashboard: 0 },
    onProgress: (line) => output.progress(output.style.faint(`  ${line}`)),
    onEvent: (event) => {
      output.warn(`  ${event.name}: ${event.what.replaceAll('_', ' ')}`);
    },
    signal,
  });
  try {
    const temporal = await connectTemporal(stack.settings);
    try {
      const deployment = stack.settings.origin === 'environment' ? `${GOOD}-${name}` : GOOD;
      await work({ session: { ...context, environment, temporal, signal }, stack, deployment });
    } finally {
      await temporal.close();
    }
  } finally {
    output.note(output.style.faint('  stopping everything'));
    await stack.stop();
  }
}

interface Stage {
  readonly session: Session;
  readonly stack: LocalStack;
  readonly deployment: string;
}

async function narrate(stage: Stage, startedAt: number): Promise<void> {
  const { output } = stage.session;
  const { style } = output;
  const { state } = stage.stack;
  const elapsed = (): string => formatDuration(Date.now() - startedAt);
  const part = (title: string): void => {
    output.event({ event: 'part', title, elapsedMs: Date.now() - startedAt });
    output.print('');
    output.print(`${style.strong(title)}  ${style.faint(elapsed())}`);
  };
  output.print(`Temporal, a control plane and a worker run on this machine (${elapsed()}).`);
  output.print(`  control plane  ${state.controlPlane}`);
  output.print(`  dashboard      ${state.dashboard}`);
  output.print(`  Temporal UI    ${state.temporal.ui ?? 'not known'}`);

  part('1. Release a good agent');
  const first = await releaseExample(stage, GOOD, 'the first release', 'released');
  part('2. Release a broken one over it: it builds and starts, and greets everybody as a stranger');
  const second = await releaseExample(stage, BROKEN, 'looks fine to me', 'rolled_back');
  if (second.servingRevisionId === null || second.servingRevisionId === second.revisionId) {
    throw failed('the revision that serves after the rollback is not the good one');
  }
  part('3. Ask the serving agent, through the gateway');
  const answer = await ask(stage, second.servingRevisionId);

  output.event({
    event: 'ended',
    outcome: 'released',
    released: first.revisionId,
    failed: second.revisionId,
    restored: second.servingRevisionId,
    answer,
    dashboard: state.dashboard,
    elapsedMs: Date.now() - startedAt,
    exitCode: 0,
  });
  const why = second.verdicts.find(({ passed }) => !passed);
  output.print('');
  output.print(`${style.mark(true)} ${style.strong(`Done in ${elapsed()}`)}`);
  output.print(
    `  released  revision ${first.revisionId ?? ''}, checked by ${first.verdicts.filter(({ passed }) => passed).length} real runs`,
  );
  output.print(
    `  failed    revision ${second.revisionId ?? ''}: ${why?.reasons.join('; ') ?? second.reason}`,
  );
  output.print(`  restored  revision ${second.servingRevisionId}, which answers`);
  output.print('');
  output.print('Try it with your own agent, in ten minutes: docs/tutorial.md');
}

async function releaseExample(
  stage: Stage,
  example: string,
  reason: string,
  wanted: Outcome,
): Promise<ReleaseResult> {
  const { session } = stage;
  const file = await fileOf(stage, example);
  const target = await chooseTargetSpec(session, file, undefined);
  const order = { file, target, reason, wait: true, timeout: RELEASE_TIMEOUT_MS };
  const { ending } = await releaseTarget(session, order);
  session.signal.throwIfAborted();
  if (ending?.from !== 'result') throw failed(`the release of examples/${example} did not end`);
  if (ending.result.outcome !== wanted) {
    throw failed(`examples/${example} ended "${ending.result.outcome}" instead of "${wanted}"`);
  }
  return ending.result;
}

/** The example's `slipway.yaml`, with this demo's control plane instead of the default one. */
async function fileOf(stage: Stage, example: string): Promise<Project> {
  const { config, folder } = await loadConfig(join(EXAMPLES, example, 'slipway.yaml'));
  const targets = Object.entries(config.targets).map(([name, target]) => [
    name,
    {
      ...target,
      controlPlane: stage.stack.state.controlPlane,
      apiKey: { from: 'env:SLIPWAY_API_KEY' },
      deployment: stage.deployment,
    },
  ]);
  return { config: { ...config, targets: Object.fromEntries(targets) as typeof config.targets }, folder };
}

/** A real run on the agent, at its public URL. @returns its answer. */
async function ask(stage: Stage, servingRevisionId: string): Promise<string> {
  const { output } = stage.session;
  const { state, apiKey } = stage.stack;
  const target = {
    name: 'demo',
    controlPlane: state.controlPlane,
    apiKey: { from: `file:${state.apiKeyFile}` },
    deployment: stage.deployment,
  };
  const deployment = await readDeployment(stage.session, target);
  if (deployment.active_revision_id !== servingRevisionId) {
    throw failed(
      `revision ${deployment.active_revision_id ?? 'none'} is active instead of ${servingRevisionId}`,
    );
  }
  const agentUrl = deployment.source_config.custom_url;
  if (typeof agentUrl !== 'string') throw failed('the control plane has no address of the agent');
  const agent = createRunApiClient({ baseUrl: agentUrl, apiKey });
  try {
    const { output: values, failure } = await agent.waitStatelessRun(
      { assistant_id: GOOD, input: { messages: [{ role: 'user', content: QUESTION }] } },
      { timeoutMs: RUN_TIMEOUT_MS },
    );
    const answer = answerText(values);
    if (failure !== undefined || !answer.includes(ANSWER)) {
      throw failed(`the restored revision answered ${JSON.stringify(failure?.message ?? answer)}`);
    }
    output.event({ event: 'answer', revisionId: servingRevisionId, agentUrl, question: QUESTION, answer });
    output.print(`  POST ${agentUrl}/runs/wait  ${JSON.stringify(QUESTION)}`);
    output.print(`  ${output.style.mark(true)} ${JSON.stringify(answer)}`);
    return answer;
  } finally {
    await agent.close();
  }
}

async function requireExamples(): Promise<void> {
  try {
    await stat(join(EXAMPLES, GOOD, 'slipway.yaml'));
  } catch (cause) {
    const what = 'the examples are missing';
    const hint = 'run the demo from a clone of the repository';
    throw new SlipwayError('SLIPWAY_DEMO_FAILED', what, { place: EXAMPLES, hint, cause });
  }
}

function failed(what: string): SlipwayError {
  return new SlipwayError('SLIPWAY_DEMO_FAILED', what, {
    hint: 'run the demo again with --keep, and look at the release on the page, or in Temporal’s web interface',
  });
}
