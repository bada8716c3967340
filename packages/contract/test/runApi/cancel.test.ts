import { describe, expect, it } from 'vitest';

import {
  BulkCancelBody,
  BulkCancelQuery,
  CancelQuery,
  disconnectMode,
  FollowQuery,
  JoinQuery,
  JoinStreamQuery,
} from '../../src/runApi/run.ts';
import { expectAccepted, issuesOf, placesOf } from '../checking.ts';

const ID = '33333333-3333-4333-8333-333333333333';

describe('Contract 001, cancelling', () => {
  it('interrupts and does not wait by default', () => {
    expect(CancelQuery.parse({})).toEqual({ action: 'interrupt', wait: false });
    expect(CancelQuery.parse({ action: 'rollback', wait: '1' })).toEqual({ action: 'rollback', wait: true });
    expect(placesOf(CancelQuery, { action: 'delete', wait: 'soon' })).toEqual(['body.action', 'body.wait']);
    expect(BulkCancelQuery.parse({})).toEqual({ action: 'interrupt' });
    expect(BulkCancelQuery.parse({ action: 'rollback' })).toEqual({ action: 'rollback' });
  });

  it.each(['pending', 'running', 'all'])('accepts many runs of the status %s', (status) => {
    expectAccepted(BulkCancelBody, { status });
    expectAccepted(BulkCancelBody, { status, thread_id: null, run_ids: null });
  });

  it('accepts many runs of a thread', () => {
    expectAccepted(BulkCancelBody, { thread_id: ID, run_ids: [ID], status: null });
  });

  it.each([
    ['nothing', {}, ['body.status missing']],
    ['a thread alone', { thread_id: ID }, ['body.run_ids missing']],
    ['runs alone', { run_ids: [ID] }, ['body.thread_id missing']],
    ['status with a thread', { status: 'all', thread_id: ID }, ['body.thread_id not_applicable']],
    ['status with runs', { status: 'all', run_ids: [ID] }, ['body.run_ids not_applicable']],
    ['no run at all', { thread_id: ID, run_ids: [] }, ['body.run_ids too_short']],
    ['another status', { status: 'success' }, ['body.status enum']],
  ])('rejects %s', (_what, body, expected) => {
    expect(issuesOf(BulkCancelBody, body).map(({ loc, type }) => `${loc.join('.')} ${type}`)).toEqual(
      expected,
    );
  });
});

describe('Contract 001, a client that disconnects', () => {
  it.each([
    ['cancel', true],
    ['Cancel', true],
    ['1', true],
    ['continue', false],
    ['', false],
  ])('reads cancel_on_disconnect=%s as %s', (given, read) => {
    expect(JoinQuery.parse({ cancel_on_disconnect: given }).cancel_on_disconnect).toBe(read);
    expect(JoinStreamQuery.parse({ cancel_on_disconnect: given }).cancel_on_disconnect).toBe(read);
    expect(FollowQuery.parse({ on_disconnect: given }).on_disconnect).toBe(read);
  });

  it('is ignored by default, and rejected in any other spelling', () => {
    expect(JoinQuery.parse({})).toEqual({ cancel_on_disconnect: false });
    expect(FollowQuery.parse({})).toEqual({});
    expect(placesOf(FollowQuery, { on_disconnect: 'perhaps' })).toEqual(['body.on_disconnect']);
  });

  it.each([
    [{}, {}, 'continue'],
    [{}, { on_disconnect: 'cancel' as const }, 'cancel'],
    [{ cancel_on_disconnect: true }, {}, 'cancel'],
    [{ on_disconnect: false }, { on_disconnect: 'cancel' as const }, 'continue'],
    [{ on_disconnect: true }, { on_disconnect: 'continue' as const }, 'cancel'],
  ])('with the query %j and the body %j is: %s', (query, body, mode) => {
    expect(disconnectMode(query, body)).toBe(mode);
  });

  it('accepts the modes of a joined stream, once or repeated', () => {
    const modesOf = (stream_mode: unknown): unknown => JoinStreamQuery.parse({ stream_mode }).stream_mode;
    expect(modesOf('values')).toEqual(['values']);
    expect(modesOf(['values', 'debug'])).toEqual(['values', 'debug']);
    expect(modesOf('["values","debug"]'), 'an older public client').toEqual(['values', 'debug']);
    expect(modesOf(''), 'the public Python client means all').toBeUndefined();
    expect(placesOf(JoinStreamQuery, { stream_mode: 'x' })).toEqual(['body.stream_mode.0']);
    expect(placesOf(JoinStreamQuery, { stream_mode: '["x' })).toEqual(['body.stream_mode.0']);
  });
});
