import { describe, expect, it } from 'vitest';

import { metricsExporter } from '../../src/metrics/exporter.ts';

const OTLP = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' };

describe('the export of metrics', () => {
  it('is off by default', async () => {
    expect(await metricsExporter(undefined, {})).toBeUndefined();
    expect(await metricsExporter('', { OTEL_EXPORTER_OTLP_ENDPOINT: '' })).toBeUndefined();
  });

  it.each([
    ['127.0.0.1:9464', '127.0.0.1:9464'],
    ['localhost:9464', /^(127\.0\.0\.1|\[::1\]):9464$/],
    ['[::1]:9464', /^\[::1\]:9464$/],
    ['0.0.0.0:9464', '0.0.0.0:9464'],
  ])('is a listener on %s, also if OTLP is set', async (address, bound) => {
    const exporter = await metricsExporter(address, OTLP);
    expect(exporter).toMatchObject({
      prometheus: { bindAddress: expect.stringMatching(bound) as string },
      attachServiceName: false,
    });
  });

  it.each(['9464', 'http://127.0.0.1:9464', '127.0.0.1:0', '127.0.0.1:70000', '127.0.0.1', 'a b:1'])(
    'rejects %s: the error shows the format',
    async (address) => {
      await expect(metricsExporter(address, {})).rejects.toMatchObject({
        code: 'SLIPWAY_USAGE',
        hint: expect.stringContaining('slipway worker --metrics') as string,
      });
    },
  );

  it('uses OTLP with OpenTelemetry’s variables', async () => {
    expect(await metricsExporter(undefined, OTLP)).toMatchObject({
      otel: { url: 'http://collector:4318/v1/metrics', http: true, metricsExportInterval: 60_000 },
    });
    const own = {
      ...OTLP,
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://metrics:4317',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_METRIC_EXPORT_INTERVAL: '5000',
    };
    expect(await metricsExporter(undefined, own)).toMatchObject({
      otel: { url: 'http://metrics:4317', http: false, metricsExportInterval: 5_000 },
    });
    expect(await metricsExporter(undefined, { ...OTLP, OTEL_METRICS_EXPORTER: 'none' })).toBeUndefined();
  });
});
