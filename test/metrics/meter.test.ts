import { rootCertificates } from 'node:tls';

import type { MetricMeter, MetricTags } from '@temporalio/common';
import { describe, expect, it } from 'vitest';

import { METRICS, TARGETS_MAX } from '../../src/domain/metrics/metrics.ts';
import {
  BUCKETS,
  certificateExpiry,
  measureExpiry,
  measureOn,
  observersOf,
  tokenExpiry,
} from '../../src/metrics/meter.ts';

const SECRET = 'planted-secret-77aa';

function keeping() {
  const kept: { name: string; value: number; labels: MetricTags }[] = [];
  const made: string[] = [];
  const create = (name: string) => {
    made.push(name);
    const keep = (value: number, labels: MetricTags = {}) => void kept.push({ name, value, labels });
    return { add: keep, record: keep, set: keep };
  };
  const meter = { createCounter: create, createHistogram: create, createGauge: create };
  return { kept, made, measure: measureOn(meter as unknown as MetricMeter) };
}

describe('a measurement', () => {
  it('has the labels of its metric, and of a closed list only its values', () => {
    const { kept, measure } = keeping();
    measure('slipway_checks', 1, { verdict: 'passed', restoring: 'false' });
    measure('slipway_checks', 1, { verdict: SECRET, restoring: 'false', [SECRET]: SECRET } as never);
    expect(kept.map(({ labels }) => labels)).toEqual([
      { verdict: 'passed', restoring: 'false' },
      { verdict: 'other', restoring: 'false' },
    ]);
  });

  it('has a limited number of values for an open label: later ones become "other"', () => {
    const { kept, measure } = keeping();
    for (let number = 0; number < TARGETS_MAX + 20; number++)
      measure('slipway_target_on_hold', 0, { target: `target-${number}` });
    measure('slipway_target_on_hold', 0, { target: 'target-0' });
    expect(new Set(kept.map(({ labels }) => labels['target'])).size).toBe(TARGETS_MAX + 1);
    expect(kept.at(-1)?.labels).toEqual({ target: 'target-0' });
  });

  it('creates each instrument once', () => {
    const { made, measure } = keeping();
    for (let times = 0; times < 3; times++) measure('slipway_targets', 1, {});
    expect(made).toEqual(['slipway_targets']);
  });
});

describe('calls', () => {
  it('are counted by route and status, or by code without a status', () => {
    const { kept, measure } = keeping();
    const { onCall } = observersOf(measure);
    const call = {
      service: 'controlPlane',
      method: 'GET',
      route: '/v2/deployments/{deployment_id}',
    } as const;
    const first = onCall!(call);
    const second = onCall!({ ...call, service: 'runApi' });
    const third = onCall!(call);
    first({ status: 200 });
    second({ code: 'SLIPWAY_UNREACHABLE' });
    third({ code: 'SLIPWAY_NO_ANSWER', aborted: true });
    const durations = kept.filter(({ name }) => name === 'slipway_call_duration_seconds');
    expect(durations.map(({ labels }) => [labels['service'], labels['status']])).toEqual([
      ['control_plane', '200'],
      ['agent', 'SLIPWAY_UNREACHABLE'],
      ['control_plane', 'aborted'],
    ]);
    const inFlight = kept.filter(({ name }) => name === 'slipway_calls_in_flight');
    expect(inFlight.map(({ value }) => value)).toEqual([1, 1, 2, 1, 0, 0]);
  });
});

describe('names', () => {
  it.each(Object.entries(METRICS))('%s follows the conventions of Prometheus', (name, metric) => {
    expect(name).toMatch(/^slipway_[a-z_]+$/);
    // The exporter adds this suffix.
    expect(name).not.toMatch(/_total$/);
    if (metric.kind === 'histogram') {
      expect(name).toMatch(/_seconds$/);
      expect(BUCKETS[name]).toEqual([...metric.buckets].sort((one, other) => one - other));
    }
  });
});

const token = (claims: object): string =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.signature`;

describe('the expiry of a credential', () => {
  it('is read from a certificate', () => {
    const [pem = ''] = rootCertificates;
    expect(certificateExpiry(Buffer.from(pem))).toBeGreaterThan(Date.parse('2025-01-01') / 1_000);
  });

  it('is read from a key that is a JWT', () => {
    expect(tokenExpiry(token({ exp: 1_900_000_000 }))).toBe(1_900_000_000);
  });

  it.each(['', 'plain-key', token({ exp: 'soon' }), token([])])('is unknown for %j', (key) => {
    expect(tokenExpiry(key)).toBeUndefined();
    expect(certificateExpiry(Buffer.from(key))).toBeUndefined();
  });

  it('is exported only if it is known, without the credential', () => {
    const measured: unknown[] = [];
    const apiKey = token({ exp: 1_900_000_000 });
    const settings = { connectionOptions: { apiKey, address: 'x:1', tls: true } };
    measureExpiry((...all) => measured.push(all), settings as never);
    expect(measured).toEqual([['slipway_temporal_api_key_expiry_timestamp_seconds', 1_900_000_000, {}]]);
  });
});
