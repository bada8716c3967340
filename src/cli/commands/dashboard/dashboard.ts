import { readAccessSettings } from '../../../dashboard/access/accessSettings.ts';
import { startDashboard } from '../../../dashboard/server.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { normalizeServiceUrl, serviceUrlProblem } from '../../../domain/target/targetSpec.ts';
import { readMetricsAddress } from '../../../metrics/exporter.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import type { CommandContext } from '../../context.ts';
import { exitWithParent, interruptible, untilAborted } from '../../interruption.ts';
import { withTemporal } from '../../openTemporal.ts';
import { openHooks } from '../hooks/hooks.ts';

const EXAMPLE = 'slipway dashboard --metrics 127.0.0.1:9466';
/** Within half a second a page says that Temporal is away. What a page follows is asked again every second. */
const PATIENCE = { maxAttempts: 3 };

interface DashboardOptions {
  readonly host: string;
  /** 0: a free port. */
  readonly port: number;
  /** The address of Temporal's UI. Default: that of `slipway dev`, or of Temporal Cloud. */
  readonly temporalUi?: string;
  /** The `slipway.yaml` whose hooks are served at the same address. Default: none. */
  readonly hooks?: string;
  /** The `host:port` that serves metrics. Default: metrics are not served. */
  readonly metrics?: string;
}

/** `slipway dashboard`: serves the page until SIGTERM or SIGINT. */
export async function runDashboardCommand(
  context: CommandContext,
  { host, port, temporalUi, hooks: hooksFile, metrics: address = '' }: DashboardOptions,
): Promise<void> {
  const { output, environment, home } = context;
  const metrics = address === '' ? undefined : readMetricsAddress(address, EXAMPLE);
  const ui = temporalUi === undefined ? undefined : addressOfUi(temporalUi);
  exitWithParent(environment);
  return interruptible(async (signal) => {
    const access = readAccessSettings(environment, host);
    const hooks =
      hooksFile === undefined ? undefined : await openHooks(context, hooksFile, signal, '--hooks FILE');
    const serve = async (connection: TemporalConnection): Promise<void> => {
      const { settings } = connection;
      const temporal = { ...connection, settings: { ...settings, ui: ui ?? settings.ui } };
      const dashboard = await startDashboard({
        temporal,
        environment,
        home,
        host,
        port,
        access,
        metrics,
        hooks: hooks && { routes: hooks.routes(connection), ofFile: hooks.hooks },
      });
      output.event({ event: 'ready', dashboard: dashboard.url });
      output.print(`The dashboard is at ${access.publicUrl?.origin ?? dashboard.url}`);
      for (const { name } of hooks?.hooks ?? [])
        output.print(`${name} listens at ${access.publicUrl?.origin ?? dashboard.url}/hooks/${name}`);
      if (metrics !== undefined) output.print(`Metrics: http://${address}/metrics`);
      if (access.signIn.way !== 'none' && access.sessionSecret === undefined) {
        output.print(
          'People sign in again after a restart. To keep their sessions: SLIPWAY_DASHBOARD_SECRET',
        );
      }
      await untilAborted(signal);
      await dashboard.close();
    };
    return withTemporal(context, serve, PATIENCE);
  });
}

/** The beginning of links. The error does not repeat the address, which may contain a password. */
function addressOfUi(url: string): string {
  if (serviceUrlProblem(url) === undefined) return normalizeServiceUrl(url);
  throw new SlipwayError('SLIPWAY_USAGE', "the address of Temporal's UI cannot be used", {
    place: '--temporal-ui',
    hint: 'write an http or https URL without credentials: --temporal-ui http://127.0.0.1:8233',
  });
}
