import { lookup } from 'node:dns/promises';

import type { RuntimeOptions } from '@temporalio/worker';

import { SlipwayError } from '../domain/errors.ts';
import { BUCKETS } from './meter.ts';

export type MetricsExporter = NonNullable<NonNullable<RuntimeOptions['telemetryOptions']>['metrics']>;

type Environment = Readonly<Record<string, string | undefined>>;

const EXPORT_EVERY_MS = 60_000;

/**
 * The exporter of the worker's metrics: served at `address`, else sent by OTLP as OpenTelemetry's variables say
 * (`OTEL_EXPORTER_OTLP_ENDPOINT` and others), else `undefined`.
 * @param address - `host:port`.
 * @throws SlipwayError SLIPWAY_USAGE.
 */
export async function metricsExporter(
  address: string | undefined,
  environment: Environment,
): Promise<MetricsExporter | undefined> {
  const shared = { attachServiceName: false };
  const durations = { useSecondsForDurations: true, histogramBucketOverrides: { ...BUCKETS } };
  if (address !== undefined && address !== '') {
    const bindAddress = await socketAddress(address);
    return {
      ...shared,
      prometheus: { bindAddress, countersTotalSuffix: true, unitSuffix: true, ...durations },
    };
  }
  const otlp = otlpEndpoint(environment);
  if (otlp === undefined) return undefined;
  const interval = Number(environment['OTEL_METRIC_EXPORT_INTERVAL']);
  const metricsExportInterval = Number.isInteger(interval) && interval > 0 ? interval : EXPORT_EVERY_MS;
  return { ...shared, otel: { ...otlp, metricsExportInterval, ...durations } };
}

/** The SDK itself reads `OTEL_EXPORTER_OTLP_HEADERS`. */
function otlpEndpoint(environment: Environment): { url: string; http: boolean } | undefined {
  const get = (name: string): string | undefined => {
    const value = environment[name];
    return value === undefined || value === '' ? undefined : value;
  };
  if ((get('OTEL_METRICS_EXPORTER') ?? 'otlp') !== 'otlp') return undefined;
  const protocol = get('OTEL_EXPORTER_OTLP_METRICS_PROTOCOL') ?? get('OTEL_EXPORTER_OTLP_PROTOCOL');
  const http = protocol !== 'grpc';
  const own = get('OTEL_EXPORTER_OTLP_METRICS_ENDPOINT');
  if (own !== undefined) return { url: own, http };
  const base = get('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (base === undefined) return undefined;
  return { url: http ? `${base.replace(/\/+$/, '')}/v1/metrics` : base, http };
}

/**
 * Reads `host:port`, as in `--metrics`.
 * @param example - a command with a valid address, for the error.
 * @throws SlipwayError SLIPWAY_USAGE.
 */
export function readMetricsAddress(
  address: string,
  example: string,
): { readonly host: string; readonly port: number } {
  const match = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<host>[^\s:/[\]]+)):(?<port>\d{1,5})$/i.exec(address);
  const { v6, host = v6 ?? '', port = '' } = match?.groups ?? {};
  if (match !== null && Number(port) >= 1 && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new SlipwayError('SLIPWAY_USAGE', `"${address}" is not a host and a port to serve metrics on`, {
    place: '--metrics, SLIPWAY_METRICS_ADDRESS',
    hint: `expected a host and a port: ${example}`,
  });
}

/** Resolves the host name, because the SDK accepts only addresses. */
async function socketAddress(address: string): Promise<string> {
  const { host, port } = readMetricsAddress(address, 'slipway worker --metrics 127.0.0.1:9464');
  try {
    const found = await lookup(host);
    return found.family === 6 ? `[${found.address}]:${port}` : `${found.address}:${port}`;
  } catch (error) {
    throw new SlipwayError('SLIPWAY_USAGE', `the host "${host}" does not exist`, {
      place: '--metrics, SLIPWAY_METRICS_ADDRESS',
      hint: 'use an address of this machine, or 0.0.0.0 for all: slipway worker --metrics 127.0.0.1:9464',
      cause: error,
    });
  }
}
