import type { BuildRevision } from '../controlPlane/dependencies.ts';
import type { Answered } from '../http/answered.ts';
import { listen } from '../http/listen.ts';
import type { PlatformMetricName } from './metrics.ts';
import { openMetrics } from './openMetrics.ts';
import { createFigures } from './readFigures.ts';
import { measureAnswer } from './requestMetrics.ts';

/** What the platform's parts report to. */
export interface ServedMetrics {
  /** `http://host:port/metrics`. */
  readonly url: string;
  /** A query to the database ended. */
  readonly onQuery: (seconds: number, result: 'ok' | 'error') => void;
  readonly onAnswered: (answered: Answered) => void;
  /** Measures builds. */
  readonly builds: (build: BuildRevision) => BuildRevision;
  /** Says what is read when metrics are asked for. */
  readonly readFrom: (from: Omit<Parameters<typeof createFigures>[0], 'record'>) => Promise<void>;
  close(): Promise<void>;
}

/**
 * Serves the platform's metrics on a listener of their own, so that no key for deployments reads them.
 * @throws PlatformError SLIPWAY_PORT_UNAVAILABLE.
 */
export async function serveMetrics(where: {
  readonly host: string;
  readonly port: number;
}): Promise<ServedMetrics> {
  const metrics = openMetrics();
  const { record } = metrics;
  const listening = await listen(metrics.listener, { ...where, option: '--metrics' });
  return {
    url: `${listening.url}/metrics`,
    onQuery: (seconds, result) =>
      record('slipway_platform_database_query_duration_seconds', seconds, { result }),
    onAnswered: (answered) => measureAnswer(record, answered),
    builds: (build) => async (options) => {
      const began = performance.now();
      const ended = (result: string): void => record(BUILDS, (performance.now() - began) / 1_000, { result });
      try {
        const result = await build(options);
        ended(options.signal.aborted ? 'canceled' : result.ok ? 'built' : 'failed');
        return result;
      } catch (error) {
        ended(options.signal.aborted ? 'canceled' : 'failed');
        throw error;
      }
    },
    readFrom: async (from) => {
      const read = createFigures({ ...from, record });
      metrics.readFrom(read);
      // Runs are counted from here on.
      await read();
    },
    close: () => listening.close(0),
  };
}

const BUILDS = 'slipway_platform_build_duration_seconds' satisfies PlatformMetricName;
