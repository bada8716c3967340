import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { REQUESTS } from './faultProxy.ts';
import { slipway } from './processes.ts';
import { GREETS, Project } from './project.ts';
import { hasPrometheus, Prometheus } from './prometheus.ts';
import { goodAgent } from './servingDeployment.ts';
import { eventually, Stack } from './stack.ts';
import { freePort, listen } from '../support/listen.ts';

/** Planted where secrets are configured, and where other services may repeat them. */
const PLANTED = {
  key: 'planted-key-5e7a1b',
  deployment: 'planted-deployment-secret-91c2',
  answer: 'planted-answer-of-the-agent-d03e',
  error: 'planted-error-of-the-control-plane-44b0',
};

let stack: Stack;
let prometheus: Prometheus;
let worker: string;
let platform: string;

const scrape = async (address: string): Promise<string> => (await fetch(`http://${address}/metrics`)).text();

describe.skipIf(!hasPrometheus)(
  'metrics, as a real Prometheus scrapes them (skipped if it is not installed)',
  () => {
    let project: Project;

    beforeAll(async () => {
      worker = `127.0.0.1:${await freePort()}`;
      platform = `127.0.0.1:${await freePort()}`;
      stack = await Stack.start(
        { SLIPWAY_METRICS_ADDRESS: platform, SLIPWAY_PLATFORM_API_KEY: PLANTED.key },
        { env: { SLIPWAY_METRICS_ADDRESS: worker, TEAM_TOKEN: PLANTED.deployment } },
      );
      prometheus = await Prometheus.start(stack.folder, { worker, platform });
      project = await Project.create(stack, {
        example: goodAgent(1),
        deployment: 'measured',
        target: { secrets: [{ name: 'TEAM_TOKEN', from: 'env:TEAM_TOKEN' }] },
        checks: [GREETS],
        env: { TEAM_TOKEN: PLANTED.deployment },
      });
    });

    afterAll(async () => {
      await prometheus.stop();
      await stack.stop();
    });

    it('have the figures of a release, of one that rolled itself back, and of a rollback', async () => {
      for (const version of [1, 2]) {
        await project.use(goodAgent(version));
        const { code, text } = await project.ran('release', 'staging');
        expect(code, text).toBe(0);
      }
      // Its first request gets an error that contains a secret.
      let met = false;
      stack.proxy.rule = (request) => {
        if (met || !REQUESTS.uploadUrl(request)) return undefined;
        met = true;
        return { kind: 'answer', status: 503, body: JSON.stringify({ detail: PLANTED.error }) };
      };
      await project.use({ says: `Goodbye ${PLANTED.answer}` });
      const failed = await project.ran('release', 'staging');
      expect(failed.code, failed.text).toBe(2);
      const rolledBack = await project.ran('rollback', 'staging', '--to', 'release-1', '--reason', 'errors');
      expect(rolledBack.code, rolledBack.text).toBe(0);

      const counted = (kind: string, outcome: string): string =>
        `sum(slipway_releases_total{kind="${kind}",outcome="${outcome}",target="staging"})`;
      expect(await prometheus.value(counted('release', 'released'))).toBe(2);
      expect(await prometheus.value(counted('release', 'rolled_back'))).toBe(1);
      expect(await prometheus.value(counted('rollback', 'rolled_back'))).toBe(1);
      for (const kind of ['release', 'rollback']) {
        const of = `{kind="${kind}"}`;
        expect(await prometheus.value(`sum(slipway_restore_duration_seconds_count${of})`)).toBe(1);
        const seconds = await prometheus.value(`sum(slipway_restore_duration_seconds_sum${of})`);
        expect(seconds).toBeLessThan(120);
      }
      expect(
        await prometheus.value('sum(slipway_checks_total{verdict="failed",restoring="false"})'),
      ).toBeGreaterThan(0);
      expect(await prometheus.value('sum(slipway_checks_total{verdict="passed",restoring="true"})')).toBe(2);
      await prometheus.value(
        'sum(slipway_step_duration_seconds_count{step="patch",status="done"})',
        (n) => n === 3,
      );
      await prometheus.value('sum(slipway_queue_wait_seconds_count)', (n) => n === 3);
      await prometheus.value(
        'sum(slipway_call_duration_seconds_count{method="PATCH",route="/v2/deployments/{deployment_id}",status="200"})',
        (n) => n === 3,
      );
      await prometheus.value(
        'sum(slipway_call_duration_seconds_count{method="POST",status="503"})',
        (n) => n === 1,
      );
      // The times of the parts add up to the total duration.
      const whole = await prometheus.value('sum(slipway_release_duration_seconds_sum)');
      expect(await prometheus.value('sum(slipway_release_time_seconds_sum)')).toBeCloseTo(whole, 1);
    });

    it('have the current state of Temporal and the targets', async () => {
      await prometheus.value('slipway_workers', (value) => value === 1);
      await prometheus.value('slipway_target_on_hold{target="staging"}', (value) => value === 1);
      await prometheus.value('slipway_targets', (value) => value === 1);
      await prometheus.value('slipway_unanswered_targets', (value) => value === 0);
      await prometheus.value('slipway_calls_in_flight{service="control_plane"}', (value) => value === 0);
      await prometheus.value('sum(temporal_worker_task_slots_available)');
      await prometheus.value('sum(temporal_num_pollers)');
    });

    it('have the platform’s builds, agents, runs, requests and queries', async () => {
      const builds = 'sum(slipway_platform_build_duration_seconds_count{result="built"})';
      expect(await prometheus.value(builds)).toBe(3);
      await prometheus.value('slipway_platform_agents', (value) => value === 1);
      await prometheus.value(
        'sum(slipway_platform_run_duration_seconds_count{status="success"})',
        (n) => n >= 4,
      );
      await prometheus.value('slipway_platform_builds_queued', (value) => value === 0);
      await prometheus.value('sum(slipway_platform_database_query_duration_seconds_count)');
      await prometheus.value(
        'sum(slipway_platform_http_request_duration_seconds_count{route="/agents/{deployment_id}/runs/stream",status="200"})',
      );
    });

    it('show that no person is needed, so that no alert fires', async () => {
      expect(await prometheus.query('ALERTS{alertstate="firing"}')).toEqual([]);
    });

    it('are valid for promtool and few, without ids and secrets', async () => {
      const texts = [await scrape(worker), await scrape(platform)];
      for (const text of texts) {
        for (const secret of Object.values(PLANTED)) expect(text).not.toContain(secret);
        expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}/);
        expect(text.split('\n').length).toBeLessThan(5_000);
      }
      const own = texts[0]!.split('\n').filter((line) => /slipway_/.test(line));
      for (const text of [`${own.join('\n')}\n`, texts[1]!]) {
        const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
          input: text,
          encoding: 'utf8',
        });
        expect(status, `${stdout}${stderr}`).toBe(0);
      }
    });

    it('are exactly those in the pages and the Grafana dashboard', async () => {
      const names = await prometheus.names();
      const text = readFileSync(new URL('../../deploy/grafana/slipway.json', import.meta.url), 'utf8');
      const named = new Set(text.match(/\btemporal_[a-z_]+/g));
      // This series exists only after the first failed request.
      named.delete('temporal_request_failure_total');
      expect([...named].filter((name) => !names.includes(name))).toEqual([]);
    });

    it('fail on a port that is in use, with advice', async () => {
      const second = slipway(['worker', '--json', '--metrics', worker], { env: stack.env });
      expect(await second.exited).toBe(1);
      expect(second.stdout).toContain('SLIPWAY_PORT_UNAVAILABLE');
      expect(second.stdout).toContain('slipway worker --metrics');
    });

    it('go by OTLP to the address in OpenTelemetry’s variables', async () => {
      const received: string[] = [];
      const collector = createServer((request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => {
          received.push(`${request.url ?? ''} ${Buffer.concat(chunks).toString('latin1')}`);
          response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
        });
      });
      const pushing = slipway(['worker', '--json'], {
        env: {
          ...stack.env,
          SLIPWAY_METRICS_ADDRESS: '',
          OTEL_EXPORTER_OTLP_ENDPOINT: await listen(collector),
          OTEL_METRIC_EXPORT_INTERVAL: '500',
          TEAM_TOKEN: PLANTED.deployment,
        },
      });
      try {
        await pushing.ready();
        await eventually(() => {
          const all = received.join('\n');
          expect(all).toContain('/v1/metrics ');
          expect(all).toContain('slipway_worker_info');
          expect(all).toContain('temporal_num_pollers');
          for (const secret of Object.values(PLANTED)) expect(all).not.toContain(secret);
        });
      } finally {
        await pushing.kill();
        collector.close();
      }
    });

    it('alert that no worker runs after it has ended', async () => {
      await stack.worker.kill();
      const pending = 'ALERTS{alertname="SlipwayNoWorker"}';
      await eventually(async () => {
        const [alert] = await prometheus.query(pending);
        expect(alert?.labels['alertstate']).toMatch(/pending|firing/);
      });
    });
  },
);
