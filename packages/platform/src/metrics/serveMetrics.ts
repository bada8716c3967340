import type { Endpoint } from '@slipway/contract/endpoint';
import { RUN_API_ENDPOINTS } from '@slipway/contract/runApi/endpoints';

import type { BuildRevision } from '../controlPlane/dependencies.ts';
import type { AnsweredRequest } from '../http/answeredRequests.ts';
import { listen } from '../http/listen.ts';
import { METHODS } from './metrics.ts';
import { openMetrics } from './openMetrics.ts';
import { createGaugeReader } from './readFigures.ts';

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
    /** Records an answered request under its route's template. If no route answers, the last pattern is a middleware's. */
    onAnswered: ({ method, route, agentPath, status, seconds }: AnsweredRequest): void => {
      const template = agentPath === undefined ? route : agentRoute(method, agentPath);
      const labels = { method, route: template.endsWith('*') ? OTHER : template, status: String(status) };
      record('slipway_platform_http_request_duration_seconds', seconds, labels);
    },
    builds:
      (build: BuildRevision): BuildRevision =>
      async (options) => {
        const began = performance.now();
        const ended = (result: string): void => {
          const seconds = (performance.now() - began) / 1_000;
          record('slipway_platform_build_duration_seconds', seconds, { result });
        };
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

const OTHER = 'other';

const ROUTES = Object.values<Endpoint>(RUN_API_ENDPOINTS)
  .filter(({ service }) => service === 'runApi')
  // Fewer parameters first: `/threads/search` is no thread.
  .sort((one, other) => one.path.split('{').length - other.path.split('{').length)
  .map(({ method, path }) => ({
    method,
    route: `/agents/{deployment_id}${path}`,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/gu, '[^/]+')}$`, 'u'),
  }));

/** The template of an agent's path; `other` if it is no path of the Run API. */
export function agentRoute(method: string, path: string): string {
  const asked = method === 'HEAD' ? 'GET' : method;
  if (!METHODS.some((known) => known === method)) return OTHER;
  return ROUTES.find((row) => row.method === asked && row.pattern.test(path))?.route ?? OTHER;
}
