import { describe, expect, it } from 'vitest';

import { Run, RunCreate, RunFailure, RunsQuery } from '../../src/runApi/run.ts';
import { expectAccepted, expectRefused, placesOf } from '../checking.ts';

const ID = '33333333-3333-4333-8333-333333333333';
const NOW = '2026-11-21T10:00:00+00:00';

describe('Contract 001, Run: the answer', () => {
  const run = {
    run_id: ID,
    thread_id: ID,
    assistant_id: ID,
    created_at: NOW,
    updated_at: NOW,
    metadata: {},
    status: 'pending',
    kwargs: {},
    multitask_strategy: 'reject',
  };

  it('requires its ids, its times and its status', () => {
    const required = ['run_id', 'thread_id', 'assistant_id', 'created_at', 'updated_at', 'status'];
    expect(placesOf(Run, {})).toEqual(required.map((field) => `body.${field}`));
  });

  it('keeps unknown fields and values', () => {
    const more = { ...run, status: 'paused', multitask_strategy: 'queue', more: 1, kwargs: { more: 2 } };
    expect(Run.parse(more)).toEqual(more);
  });

  it('of a failed run contains the error', () => {
    expectAccepted(RunFailure, { __error__: { error: 'TypeError', message: 'x is not a function' } });
    expect(RunFailure.safeParse({ messages: [] }).success).toBe(false);
  });
});

describe('Contract 001, Endpoints: the body that creates a run', () => {
  const BODY = { assistant_id: 'agent' };

  it('requires only assistant_id, a name or an id', () => {
    expectRefused(RunCreate, {}, 'body.assistant_id', 'missing');
    expectAccepted(RunCreate, { assistant_id: ID });
    for (const assistant_id of ['', ' ', 'a\nb', null, 1]) {
      expect(placesOf(RunCreate, { assistant_id })).toEqual(['body.assistant_id']);
    }
  });

  it('has these defaults', () => {
    expect(RunCreate.parse(BODY)).toEqual({
      assistant_id: 'agent',
      multitask_strategy: 'reject',
      feedback_keys: null,
      stream_mode: ['values'],
      stream_subgraphs: false,
      stream_resumable: false,
      if_not_exists: 'reject',
    });
  });

  it.each([
    ['feedback_keys', ['score', [''], ['a\nb']]],
    ['stream_mode', ['messages', 'all', ['values', 'x']]],
    ['config', [{ recursion_limit: 0 }, 'x']],
    ['interrupt_before', ['a', ['']]],
    ['interrupt_after', [true, '']],
    ['webhook', ['hook', 'file:///a', '']],
    ['after_seconds', [-1, '1']],
    ['timeout', [0, 86_401, '60']],
    // No database can store a write under such a name.
    ['command', [{ update: { 'a\0': 1 } }, { update: [['\uD800', 1]] }]],
  ])('%s is rejected if it is invalid', (field, wrong) => {
    for (const value of wrong) {
      expect(placesOf(RunCreate, { ...BODY, [field]: value })[0], JSON.stringify(value)).toMatch(
        new RegExp(`^body\\.${field}(\\.|$)`, 'u'),
      );
    }
  });

  it.each([
    ['values', ['values']],
    [
      ['updates', 'updates', 'debug'],
      ['updates', 'debug'],
    ],
    [[], ['values']],
    [null, ['values']],
  ])('reads stream_mode %j as %j', (given, read) => {
    expect(RunCreate.parse({ ...BODY, stream_mode: given }).stream_mode).toEqual(read);
  });

  it('reports which mode of a list is invalid', () => {
    expectRefused(RunCreate, { ...BODY, stream_mode: ['values', 'x'] }, 'body.stream_mode.1', 'enum');
    expectRefused(RunCreate, { ...BODY, stream_mode: 'x' }, 'body.stream_mode.0', 'enum');
  });

  it('treats null as absent in every field except the assistant', () => {
    const nulls = Object.fromEntries(Object.keys(RunCreate.shape).map((field) => [field, null]));
    expect(RunCreate.parse({ ...nulls, ...BODY })).toMatchObject(RunCreate.parse(BODY));
  });

  it('rejects duplicate feedback keys, and more than 100', () => {
    expect(RunCreate.parse({ ...BODY, feedback_keys: ['a', 'b', 'a'] }).feedback_keys).toEqual(['a', 'b']);
    const many = Array.from({ length: 101 }, (_, index) => `key-${index}`);
    expectRefused(RunCreate, { ...BODY, feedback_keys: many }, 'body.feedback_keys', 'too_long');
  });

  it.each([
    ['a', true],
    [{ node: 'a', input: 1 }, true],
    [['a', { node: 'b' }], true],
    ['', false],
    [{ input: 1 }, false],
    [[''], false],
    [7, false],
  ])('with a command that goes to %j: %s', (goto, right) => {
    expect(placesOf(RunCreate, { ...BODY, command: { goto } }).length === 0).toBe(right);
  });

  it('accepts everything that the public client sends', () => {
    expectAccepted(RunCreate, {
      assistant_id: 'agent',
      input: null,
      command: { resume: { approved: true } },
      config: { configurable: {} },
      context: {},
      metadata: {},
      stream_mode: ['values', 'messages-tuple'],
      stream_subgraphs: true,
      stream_resumable: true,
      feedback_keys: ['a'],
      interrupt_before: ['a'],
      interrupt_after: '*',
      checkpoint: { checkpoint_id: 'c', checkpoint_ns: '', checkpoint_map: {} },
      checkpoint_id: 'c',
      webhook: 'http://hook.example',
      multitask_strategy: 'enqueue',
      on_completion: 'complete',
      on_disconnect: 'cancel',
      after_seconds: 1,
      if_not_exists: 'create',
      checkpoint_during: true,
      durability: 'async',
      langsmith_tracer: { project_name: 'p' },
    });
  });
});

describe('The query that lists runs (public client)', () => {
  it('selects every run by default', () => {
    expect(RunsQuery.parse({})).toEqual({ offset: 0 });
    expect(RunsQuery.parse({ limit: '10', offset: '0', status: 'running' })).toEqual({
      limit: 10,
      offset: 0,
      status: 'running',
    });
    for (const select of ['status', ['status'], '["status"]'])
      expect(RunsQuery.parse({ select }).select).toEqual(['status']);
    expect(placesOf(RunsQuery, { limit: '0', status: 'done' }, 'query')).toEqual([
      'query.limit',
      'query.status',
    ]);
  });
});
