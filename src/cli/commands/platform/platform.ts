import type { AnsweredRequest, PlatformSettings } from '@slipway/platform';

import { makeHome } from '../../../config/home.ts';
import { isTraced, startSpan, startTraces, traceVariables } from '../../../traces/trace.ts';
import type { CommandContext } from '../../context.ts';
import { exitWithParent, interruptible, untilAborted } from '../../interruption.ts';
import { printError } from '../../ui/errorReport.ts';
import { loadPlatform } from './loadPlatform.ts';

/**
 * `slipway platform`: runs the platform alone, until SIGTERM or SIGINT, which drains it. If another platform takes its
 * database, it exits with that error's code. `platformOptionsOf` reads the environment.
 */
export async function runPlatformCommand(
  { output, home, environment }: CommandContext,
  options: Omit<PlatformSettings, 'home'>,
): Promise<void> {
  exitWithParent(environment);
  await makeHome(home);
  const { platformOptionsOf, startPlatform } = await loadPlatform(() => import('@slipway/platform'));
  const endTraces = await startTraces(environment, 'slipway-platform');
  const platform = await startPlatform({
    ...platformOptionsOf({ ...options, home }, environment),
    agentTraces: traceVariables(environment),
    onAnswered: isTraced(environment) ? recordAnswer : undefined,
  });
  return interruptible(async (signal) => {
    output.event({ event: 'ready', controlPlane: platform.url, apiKey: platform.apiKey });
    output.print(
      `The platform is ready at ${platform.url}. Its API key is in ${home}/api.key, unless you set one.`,
    );
    // No graceful shutdown: the database belongs to the other platform now, so nothing more may be written.
    void platform.lost.then((error) => process.exit(printError(output, error)));
    await untilAborted(signal);
    await platform.close();
    await endTraces();
  });
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
