import type { AnsweredRequest, PlatformSettings } from '@slipway/platform';

import { makeHome } from '../../../config/home.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { isTraced, startSpan, startTraces, traceVariables } from '../../../traces/trace.ts';
import type { CommandContext } from '../../context.ts';
import { jsonLine } from '../../output.ts';
import { printError } from '../../ui/errorReport.ts';

export interface PlatformCommandOptions extends PlatformSettings {
  /** One JSON object per line instead of readable text. */
  json: boolean;
}

/**
 * `slipway platform`: runs the platform alone, until SIGTERM or SIGINT. Prints
 * `{"event":"ready","controlPlane":"http://…", "apiKey":"…"}` (or a readable line) once it accepts requests. The first
 * signal drains it and exits with 0; a second one exits at once. If another platform takes its database, it exits with
 * that error's code. `platformOptionsOf` reads the environment.
 */
export async function runPlatformCommand(
  options: PlatformCommandOptions,
  { output }: CommandContext,
): Promise<void> {
  await makeHome(options.home);
  const { platformOptionsOf, startPlatform } = await loadPlatform(() => import('@slipway/platform'));
  const endTraces = await startTraces(process.env, 'slipway-platform');
  const platform = await startPlatform({
    ...platformOptionsOf(options, process.env),
    agentTraces: traceVariables(process.env),
    onAnswered: isTraced(process.env) ? recordAnswer : undefined,
  });
  const signaled = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(130));
        resolve();
      });
    }
  });
  process.stdout.write(
    options.json
      ? jsonLine({ event: 'ready', controlPlane: platform.url, apiKey: platform.apiKey })
      : `The platform is ready at ${platform.url}. Its API key is in ${options.home}/api.key, unless you set one.\n`,
  );
  // No graceful shutdown: the database belongs to the other platform now, so nothing more may be written.
  void platform.lost.then((error) => process.exit(printError(output, error)));
  await signaled;
  await platform.close();
  await endTraces();
  process.exitCode = 0;
}

/** Records a request as a span of its trace. A request without a trace is not recorded. */
function recordAnswer({ method, route, status, deployment, revision, ...answered }: AnsweredRequest): void {
  const { traceparent: parent, startedAt } = answered;
  if (parent === undefined) return;
  const span = startSpan({
    name: `${method} ${route}`,
    kind: 'server',
    parent,
    startedAt,
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'slipway.deployment': deployment,
      'slipway.revision': revision,
    },
  });
  if (status >= 500) span.fail(String(status));
  span.end();
}

/**
 * Loads a part of `@slipway/platform`, which is installed only on machines that run a platform.
 *
 * `await loadPlatform(() => import('@slipway/platform'))`
 */
export async function loadPlatform<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new SlipwayError(
      'SLIPWAY_PLATFORM_NOT_INSTALLED',
      'this command needs the platform, which is not installed; install it: npm install @slipway/platform',
      { cause: error },
    );
  }
}

/** Whether the package itself is missing, not one of its dependencies. */
function isMissing(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === 'ERR_MODULE_NOT_FOUND' &&
    error.message.includes("'@slipway/platform'")
  );
}
