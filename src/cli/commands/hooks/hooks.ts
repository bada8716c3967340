import type { Hono } from 'hono';

import { loadConfig, type Project } from '../../../config/loadConfig.ts';
import { resolveSecret } from '../../../config/secretReference.ts';
import { serve } from '../../../dashboard/listen.ts';
import type { Actor } from '../../../domain/actor.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { type Answered, hookRoutes } from '../../../hooks/hookRoutes.ts';
import type { RequestSource } from '../../../hooks/listeningHook.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import type { ListeningHook } from '../../../temporal/client/hooks/hookClient.ts';
import type { CommandContext, FileOptions } from '../../context.ts';
import { exitWithParent, interruptible, untilAborted } from '../../interruption.ts';
import { withTemporal } from '../../openTemporal.ts';
import type { Output } from '../../output.ts';
import { artifactStoreOf, makeHomeOf } from '../artifact/artifactStoreOf.ts';
import { printProblems } from '../lint/problemLines.ts';
import { promotionRequest } from '../promotion/promotionRequest.ts';
import { releaseRequest, sourceFacts, storeArtifact } from '../release/releaseRequest.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';
import { listeningHooks, shared } from './listeningHooks.ts';

interface HooksOptions extends FileOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

/** `slipway hooks`: serves the hooks of the file until SIGTERM or SIGINT. */
export async function runHooksCommand(
  context: CommandContext,
  { config: path, host, port }: HooksOptions,
): Promise<void> {
  const { output, environment } = context;
  exitWithParent(environment);
  return interruptible(async (signal) => {
    const { hooks, routes } = await openHooks(context, path, signal);
    return withTemporal(context, async (temporal) => {
      const listening = await serve(routes(temporal), host, port);
      output.event({ event: 'ready', hooks: listening.url, names: hooks.map(({ name }) => name) });
      for (const { name, config } of hooks)
        output.print(`${name} (${config.form}) listens at ${listening.url}/hooks/${name}`);
      await untilAborted(signal);
      await listening.close();
    });
  });
}

interface OpenHooks {
  readonly hooks: readonly ListeningHook[];
  readonly routes: (temporal: TemporalConnection) => Hono;
}

/**
 * Reads the hooks of a file, and warns of those whose secret is missing.
 * @param path - default: `slipway.yaml`, here or in a folder above.
 * @param naming - how the command line names a file, for hints. Default: `--config FILE`.
 */
export async function openHooks(
  context: CommandContext,
  path: string | undefined,
  signal: AbortSignal,
  naming?: string,
): Promise<OpenHooks> {
  const { output, environment } = context;
  const file = await loadConfig(path, process.cwd(), naming);
  printProblems(output, file.warnings, 'note');
  const hooks = await listeningHooks(context, file);
  for (const hook of hooks) warnOfMissingSecret(context, hook);
  await makeHomeOf(artifactStoreOf(file, context), context);
  const source = requestSource(context, file, signal);
  const onAnswered = (answered: Answered): void => printAnswered(output, answered);
  return { hooks, routes: (temporal) => hookRoutes({ hooks, temporal, environment, source, onAnswered }) };
}

/** The secret is read for each request. Without it, the listener answers 503. */
function warnOfMissingSecret({ output, environment }: CommandContext, { name, config }: ListeningHook): void {
  try {
    resolveSecret(config.secret, environment);
  } catch (error) {
    if (!(error instanceof SlipwayError)) throw error;
    output.warn(`the hook "${name}" cannot accept events: ${error.message}`);
  }
}

function printAnswered(output: Output, { hook, status, error, answers }: Answered): void {
  const count = (disposition: (typeof answers)[number]['disposition']): number =>
    answers.filter((answer) => answer.disposition === disposition).length;
  const counts = { taken: count('taken'), duplicates: count('duplicate'), unmatched: count('unmatched') };
  // Any client can request any name, so the log shows only known names.
  const named = error?.code === 'SLIPWAY_HOOK_UNKNOWN' ? '' : hook;
  output.event({ event: 'delivery', hook: named, status, code: error?.code ?? null, ...counts });
  const what =
    error === undefined
      ? `${counts.taken} accepted, ${counts.duplicates} known, ${counts.unmatched} without a rule`
      : `${error.code}, ${error.message}`;
  output.info(`${named === '' ? 'no hook' : named}: ${status}, ${what}`);
}

/** A placeholder. The worker replaces it by the event. */
const BY: Actor = { who: 'hook', from: 'hook' };

/** Makes the requests that "slipway release" and "slipway promote" would make. Concurrent events share one. */
function requestSource(context: CommandContext, file: Project, signal: AbortSignal): RequestSource {
  return {
    kept: async (name) => {
      const { spec: target, openStore } = await chooseTargetSpec(context, file, name);
      return { target, recordStore: openStore().url };
    },
    release: shared(async (name) => {
      const { settings, spec } = await chooseTargetSpec(context, file, name);
      const source = await sourceFacts(context.environment, file, settings.notify);
      const stored = await storeArtifact(context, file, { name, settings }, false, signal);
      const { artifact, recordStore, checks } = stored;
      return releaseRequest(
        { ...settings, ...source, checks },
        { target: spec, artifact, recordStore, requestedBy: BY },
      );
    }),
    promotion: shared(async (name) => {
      const { request, store } = await promotionRequest(context, file, name, BY);
      await store();
      return request;
    }),
  };
}
