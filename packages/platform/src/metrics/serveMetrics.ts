import type { BuildRevision } from '../controlPlane/dependencies.ts';
import type { AnsweredRequest } from '../http/answeredRequests.ts';
import { listen } from '../http/listen.ts';
import type { PlatformMetricName } from './metrics.ts';
import { openMetrics } from './openMetrics.ts';
import { createGaugeReader } from './readFigures.ts';
import { measureAnswer } from './requestMetrics.ts';

/** The metrics that the platform's parts report to. */
export type ServedMetrics = Awaited<ReturnType<typeof serveMetrics>>;

/**
 * Serves the platform's metrics on a separate listener, so that API keys do not grant access to them.
 * @throws PlatformError SLIPWAY_PORT_UNAVAILABLE.
 */
export async function serveMetrics(where: { readonly host: string; readonly port: number }) {
  const metrics = openMetrics();
  const { record } = metrics;
  const listening = await listen(metrics.listener, { ...where, option: '--metrics' });
  return {
    /** `http://host:port/metrics`. */
    url: `${listening.url}/metrics`,
    onQuery: (seconds: number, result: 'ok' | 'error'): void =>
      record('slipway_platform_database_query_duration_seconds', seconds, { result }),
    onAnswered: (answered: AnsweredRequest): void => measureAnswer(record, answered),
    builds:
      (build: BuildRevision): BuildRevision =>
      async (options) => {
        const began = performance.now();
        const ended = (result: string): void =>
          record(BUILDS, (performance.now() - began) / 1_000, { result });
        try {
          const result = await build(options);
          ended(options.signal.aborted ? 'canceled' : result.ok ? 'built' : 'failed');
          return result;
        } catch (error) {
          ended(options.signal.aborted ? 'canceled' : 'failed');
          throw error;
        }
      },
    readFrom: async (from: Omit<Parameters<typeof createGaugeReader>[0], 'record'>): Promise<void> => {
      const read = createGaugeReader({ ...from, record });
      metrics.readFrom(read);
      // Starts counting ended runs.
      await read();
    },
    close: (): Promise<void> => listening.close(0),
  };
}

const BUILDS = 'slipway_platform_build_duration_seconds' satisfies PlatformMetricName;
