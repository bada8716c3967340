import { describe, expect, it } from 'vitest';

import {
  MultitaskStrategy,
  Run,
  RunCreate,
  RunFailure,
  RunKwargs,
  RunsQuery,
  RunStatus,
  StreamMode,
} from '../../src/runApi/run.ts';
import { expectAccepted, expectRefused, placesOf } from '../checking.ts';

const ID = '33333333-3333-4333-8333-333333333333';
const NOW = '2026-11-21T10:00:00+00:00';

describe('Contract 001, Run: words', () => {
  it('has these statuses: the four of the contract, and two of the public servers', () => {
    expect(RunStatus.options).toEqual(['pending', 'running', 'success', 'interrupted', 'error', 'timeout']);
  });

  it('has these multitask strategies', () => {
    expect(MultitaskStrategy.options).toEqual(['enqueue', 'reject', 'interrupt', 'rollback']);
  });

  it('has these stream modes', () => {
    expect(StreamMode.options).toEqual(['values', 'updates', 'messages-tuple', 'debug', 'custom', 'events']);
  });
});

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

  it.each(['run_id', 'thread_id', 'assistant_id', 'created_at', 'updated_at', 'status'])(
    'must have %s',
    (field) => {
      const { [field as 'status']: _, ...rest } = run;
      expectRefused(Run, rest, `body.${field}`, 'missing');
    },
  );

  it('keeps fields and words that no contract names', () => {
    const more = { ...run, status: 'paused', multitask_strategy: 'queue', more: 1, kwargs: { more: 2 } };
    expect(Run.parse(more)).toEqual(more);
  });

  it('has kwargs as the contract shows them', () => {
    expectAccepted(RunKwargs, {
      input: { messages: [] },
      config: {
        metadata: { created_by: 'system' },
        configurable: {
          run_id: ID,
          user_id: '',
          graph_id: 'agent',
          thread_id: ID,
          assistant_id: ID,
          checkpoint_id: null,
        },
      },
      webhook: null,
      temporary: false,
      stream_mode: ['values'],
      feedback_keys: null,
      interrupt_after: null,
      interrupt_before: ['node'],
    });
  });

  it('says of a failed run what failed', () => {
    expectAccepted(RunFailure, { __error__: { error: 'TypeError', message: 'x is not a function' } });
    expect(RunFailure.safeParse({ messages: [] }).success).toBe(false);
  });
});

describe('Contract 001, Endpoints: the body that creates a run', () => {
  const BODY = { assistant_id: 'agent' };

  it('requires assistant_id alone, a name or an id', () => {
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
    ['input', [{ messages: [] }, {}], ['hi', [], 7]],
    ['multitask_strategy', MultitaskStrategy.options, ['queue', '']],
    ['feedback_keys', [[], ['score', 'a b']], ['score', [''], [1], ['a\nb']]],
    [
      'stream_mode',
      [...StreamMode.options, ['values', 'updates'], []],
      ['messages', 'all', ['values', 'x'], 7],
    ],
    ['stream_subgraphs', [true, false], ['true', 1]],
    ['stream_resumable', [true, false], ['true']],
    ['on_disconnect', ['cancel', 'continue'], ['stop', true]],
    [
      'command',
      [{}, { resume: 'yes' }, { resume: null }, { update: { a: 1 } }, { update: [['a', 1]] }],
      ['x', []],
    ],
    [
      'config',
      [{}, { configurable: { x: 1 }, tags: ['a'], recursion_limit: 5 }],
      [{ recursion_limit: 0 }, 'x'],
    ],
    ['context', [{}, 'x', 7, [1]], []],
    ['metadata', [{ a: 1 }], ['x', []]],
    ['interrupt_before', ['*', [], ['a', 'b']], ['a', [1], ['']]],
    ['interrupt_after', ['*', ['a']], [true, '']],
    ['checkpoint', [{ checkpoint_id: 'c', checkpoint_ns: '' }], ['c']],
    ['checkpoint_id', ['c'], ['', 1]],
    ['webhook', ['https://hook.example/a'], ['hook', 'file:///a', '']],
    ['on_completion', ['delete', 'keep', 'complete', 'continue'], ['drop']],
    ['if_not_exists', ['create', 'reject'], ['ignore']],
    ['after_seconds', [0, 1.5, 3600], [-1, '1']],
    ['durability', ['sync', 'async', 'exit'], ['never']],
    ['checkpoint_during', [true], ['x']],
    ['timeout', [0.5, 60, 86_400], [0, -1, 86_401, '60']],
  ])('%s is optional and nullable', (field, right, wrong) => {
    for (const value of [undefined, null, ...right]) expectAccepted(RunCreate, { ...BODY, [field]: value });
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

  it('tells which mode of a list is wrong', () => {
    expectRefused(RunCreate, { ...BODY, stream_mode: ['values', 'x'] }, 'body.stream_mode.1', 'enum');
    expectRefused(RunCreate, { ...BODY, stream_mode: 'x' }, 'body.stream_mode.0', 'enum');
  });

  it('takes null as the default, as clients send it', () => {
    const nulls = {
      stream_subgraphs: null,
      stream_resumable: null,
      multitask_strategy: null,
      if_not_exists: null,
    };
    expect(RunCreate.parse({ ...BODY, ...nulls })).toEqual(RunCreate.parse(BODY));
  });

  it('has each feedback key once, and at most 100', () => {
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
  ])('takes a command that goes to %j: %s', (goto, right) => {
    expect(placesOf(RunCreate, { ...BODY, command: { goto } }).length === 0).toBe(right);
  });

  it('takes everything that the public client sends', () => {
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
  it('means every run unless it is bounded', () => {
    expect(RunsQuery.parse({})).toEqual({ offset: 0 });
    expect(RunsQuery.parse({ limit: '10', offset: '0', status: 'running' })).toEqual({
      limit: 10,
      offset: 0,
      status: 'running',
    });
    expect(placesOf(RunsQuery, { limit: '0', status: 'done' }, 'query')).toEqual([
      'query.limit',
      'query.status',
    ]);
  });
});
