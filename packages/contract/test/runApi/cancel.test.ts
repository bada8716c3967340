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

describe('Contract 001, cancelling one run', () => {
  it('interrupts and does not wait by default', () => {
    expect(CancelQuery.parse({})).toEqual({ action: 'interrupt', wait: false });
  });

  it.each(['interrupt', 'rollback'])('takes the action %s', (action) => {
    expect(CancelQuery.parse({ action }).action).toBe(action);
  });

  it.each(['', 'delete', 'ROLLBACK'])('refuses the action "%s"', (action) => {
    expect(placesOf(CancelQuery, { action }, 'query')).toEqual(['query.action']);
  });

  it.each([
    ['1', true],
    ['true', true],
    ['True', true],
    ['0', false],
    ['false', false],
    ['', false],
  ])('reads wait=%s as %s', (wait, read) => {
    expect(CancelQuery.parse({ wait }).wait).toBe(read);
  });

  it('refuses another wait', () => {
    expect(placesOf(CancelQuery, { wait: 'soon' }, 'query')).toEqual(['query.wait']);
  });
});

describe('Contract 001, cancelling many runs', () => {
  it('interrupts by default', () => {
    expect(BulkCancelQuery.parse({})).toEqual({ action: 'interrupt' });
    expect(BulkCancelQuery.parse({ action: 'rollback' })).toEqual({ action: 'rollback' });
  });

  it.each(['pending', 'running', 'all'])('takes the status %s', (status) => {
    expectAccepted(BulkCancelBody, { status });
    expectAccepted(BulkCancelBody, { status, thread_id: null, run_ids: null });
  });

  it('takes a thread with its runs', () => {
    expectAccepted(BulkCancelBody, { thread_id: ID, run_ids: [ID] });
    expectAccepted(BulkCancelBody, { thread_id: ID, run_ids: [ID], status: null });
  });

  it.each([
    ['nothing', {}, ['body.status missing']],
    ['a thread alone', { thread_id: ID }, ['body.run_ids missing']],
    ['runs alone', { run_ids: [ID] }, ['body.thread_id missing']],
    ['status with a thread', { status: 'all', thread_id: ID }, ['body.thread_id not_applicable']],
    ['status with runs', { status: 'all', run_ids: [ID] }, ['body.run_ids not_applicable']],
    [
      'all of them',
      { status: 'all', thread_id: ID, run_ids: [ID] },
      ['body.thread_id not_applicable', 'body.run_ids not_applicable'],
    ],
    ['no run at all', { thread_id: ID, run_ids: [] }, ['body.run_ids too_short']],
    ['another status', { status: 'success' }, ['body.status enum']],
    [
      'ids that are none',
      { thread_id: 'x', run_ids: [ID, 'y'] },
      ['body.thread_id string_format', 'body.run_ids.1 string_format'],
    ],
  ])('refuses %s', (_what, body, expected) => {
    expect(issuesOf(BulkCancelBody, body).map(({ loc, type }) => `${loc.join('.')} ${type}`)).toEqual(
      expected,
    );
  });
});

describe("Contract 001, what a client's going away does", () => {
  it.each([
    ['cancel', true],
    ['Cancel', true],
    ['1', true],
    ['true', true],
    ['0', false],
    ['false', false],
    ['continue', false],
    ['', false],
  ])('reads cancel_on_disconnect=%s as %s', (given, read) => {
    expect(JoinQuery.parse({ cancel_on_disconnect: given }).cancel_on_disconnect).toBe(read);
    expect(JoinStreamQuery.parse({ cancel_on_disconnect: given }).cancel_on_disconnect).toBe(read);
    expect(FollowQuery.parse({ on_disconnect: given }).on_disconnect).toBe(read);
  });

  it('is nothing unless asked for', () => {
    expect(JoinQuery.parse({})).toEqual({ cancel_on_disconnect: false });
    expect(FollowQuery.parse({})).toEqual({});
  });

  it('is refused in any other spelling', () => {
    expect(placesOf(JoinQuery, { cancel_on_disconnect: 'perhaps' }, 'query')).toEqual([
      'query.cancel_on_disconnect',
    ]);
    expect(placesOf(FollowQuery, { on_disconnect: 'perhaps' }, 'query')).toEqual(['query.on_disconnect']);
  });

  it.each([
    [{}, {}, 'continue'],
    [{}, { on_disconnect: null }, 'continue'],
    [{}, { on_disconnect: 'cancel' as const }, 'cancel'],
    [{ on_disconnect: true }, {}, 'cancel'],
    [{ cancel_on_disconnect: true }, {}, 'cancel'],
    [{ on_disconnect: false }, { on_disconnect: 'cancel' as const }, 'continue'],
    [{ on_disconnect: true }, { on_disconnect: 'continue' as const }, 'cancel'],
  ])('with the query %j and the body %j is: %s', (query, body, mode) => {
    expect(disconnectMode(query, body)).toBe(mode);
  });

  it('may come with the modes that a joined stream shows, once or several times', () => {
    expect(JoinStreamQuery.parse({ stream_mode: 'values' }).stream_mode).toEqual(['values']);
    expect(JoinStreamQuery.parse({ stream_mode: ['values', 'debug'] }).stream_mode).toEqual([
      'values',
      'debug',
    ]);
    expect(placesOf(JoinStreamQuery, { stream_mode: 'x' }, 'query')).toEqual(['query.stream_mode.0']);
  });
});
