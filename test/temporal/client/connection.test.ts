import { createServer as createHttp2Server } from 'node:http2';
import { createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';

import { Connection } from '@temporalio/client';
import { describe, expect, it } from 'vitest';

import { callInterceptors, connectTemporal } from '../../../src/temporal/client/connection.ts';
import { startedTemporal } from '../../../src/temporal/client/temporalSettings.ts';
import { freePort, listen } from '../../support/listen.ts';

function settingsFor(address: string) {
  return startedTemporal({ address, namespace: 'default', taskQueue: 'slipway' });
}

describe('connecting to Temporal', () => {
  it('fails immediately if nothing listens', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const connecting = connectTemporal(settingsFor(address)).catch((error: unknown) => error);
    const first = await Promise.race([connecting, setTimeout(5_000, 'still waiting')]);
    expect(first).toMatchObject({
      code: 'SLIPWAY_TEMPORAL_UNREACHABLE',
      message: `Temporal at ${address} refuses connections`,
      exitCode: 6,
      place: address,
    });
  });

  it('fails immediately if the host does not exist', async () => {
    await expect(connectTemporal(settingsFor('temporal.invalid:7233'))).rejects.toMatchObject({
      code: 'SLIPWAY_TEMPORAL_UNREACHABLE',
      message: 'the host "temporal.invalid" does not exist',
    });
  });

  it('fails in time if the server never answers', async () => {
    const silent = createServer(() => undefined);
    const address = new URL(await listen(silent)).host;
    const startedAt = Date.now();
    await expect(connectTemporal(settingsFor(address), { timeoutMs: 500 })).rejects.toMatchObject({
      code: 'SLIPWAY_TEMPORAL_UNREACHABLE',
    });
    expect(Date.now() - startedAt).toBeLessThan(5_000);
    silent.close();
  });

  it('that TLS is required of says so if the server does not speak TLS', async () => {
    const plain = createHttp2Server();
    const address = new URL(await listen(plain)).host;
    const settings = { ...settingsFor(address), connectionOptions: { address, tls: true } };
    await expect(connectTemporal(settings, { timeoutMs: 500 })).rejects.toMatchObject({
      code: 'SLIPWAY_TEMPORAL_UNREACHABLE',
      message: `Temporal at ${address} accepts connections, but does not answer over TLS`,
      hint: expect.stringContaining('TEMPORAL_API_KEY turns TLS on') as string,
    });
    plain.close();
  });

  it('fails if the server is not Temporal', async () => {
    const other = createHttp2Server().on('stream', (stream) => {
      stream.respond({ ':status': 404 });
      stream.end();
    });
    const address = new URL(await listen(other)).host;
    await expect(connectTemporal(settingsFor(address))).rejects.toMatchObject({
      code: 'SLIPWAY_TEMPORAL_UNREACHABLE',
      message: `what answers at ${address} is not Temporal`,
    });
    other.close();
  });

  it('ends a call without a deadline if Temporal hangs', async () => {
    const hanging = createHttp2Server();
    const address = new URL(await listen(hanging)).host;
    const connection = Connection.lazy({ address, interceptors: callInterceptors(undefined, 500) });
    const called = connection.workflowService.getSystemInfo({}).catch((error: unknown) => error);
    expect(await Promise.race([called, setTimeout(10_000, 'still waiting')])).toMatchObject({ code: 4 });
    await connection.close();
    hanging.close();
  });

  it('that is closed ends a call that waits for a retry', async () => {
    const temporal = await leavingTemporal();
    const connected = await connectTemporal(settingsFor(temporal.address));
    temporal.leave();
    const called = connected.connection.workflowService.getSystemInfo({}).catch((error: unknown) => error);
    while (temporal.refused() === 0) await setTimeout(5);
    await connected.close();
    expect(await called).toMatchObject({ code: 1, details: 'the connection to Temporal was closed' });
    temporal.close();
  });

  it('that may make two attempts ends a call after the second', async () => {
    const temporal = await leavingTemporal();
    const connected = await connectTemporal(settingsFor(temporal.address), { maxAttempts: 2 });
    temporal.leave();
    await expect(connected.connection.workflowService.getSystemInfo({})).rejects.toMatchObject({ code: 14 });
    expect(temporal.refused()).toBe(2);
    await connected.close();
    temporal.close();
  });
});

/** A Temporal that answers each call with an empty message, and refuses it as unavailable once it has left. */
async function leavingTemporal() {
  let isAway = false;
  let refused = 0;
  const server = createHttp2Server().on('stream', (stream) => {
    const status = isAway ? '14' : '0';
    if (isAway) refused += 1;
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }));
    // An empty message: not compressed, 0 bytes long.
    stream.end(isAway ? undefined : Buffer.alloc(5));
  });
  return {
    address: new URL(await listen(server)).host,
    leave: () => void (isAway = true),
    refused: () => refused,
    close: () => server.close(),
  };
}
