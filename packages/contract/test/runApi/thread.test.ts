import { describe, expect, it } from 'vitest';

import { Assistant, AssistantSearch } from '../../src/runApi/assistant.ts';
import {
  HistoryQuery,
  StateUpdate,
  Thread,
  ThreadCreate,
  ThreadPatch,
  ThreadSearch,
  ThreadState,
  ThreadStateMetadata,
  ThreadStatus,
} from '../../src/runApi/thread.ts';
import { expectAccepted, expectRefused, placesOf } from '../checking.ts';

const ID = '33333333-3333-4333-8333-333333333333';
const NOW = '2026-11-21T10:00:00+00:00';

describe('Contract 001, Thread', () => {
  const thread = {
    thread_id: ID,
    created_at: NOW,
    updated_at: NOW,
    metadata: {},
    status: 'idle',
    config: {},
    values: null,
  };

  it('is as the contract shows it at creation', () => {
    expect(Thread.parse(thread)).toEqual(thread);
  });

  it.each(['thread_id', 'created_at', 'updated_at', 'status'])('must have %s', (field) => {
    const { [field as 'status']: _, ...rest } = thread;
    expectRefused(Thread, rest, `body.${field}`, 'missing');
  });

  it.each([
    ['metadata', {}],
    ['config', {}],
    ['values', null],
  ])('reads %s as %j where a server leaves it out', (field, read) => {
    const { [field as 'values']: _, ...rest } = thread;
    expect(Thread.parse(rest)).toMatchObject({ [field]: read });
  });

  it('has idle, and the statuses of the public servers, and may have others', () => {
    expect(ThreadStatus.options).toEqual(['idle', 'busy', 'interrupted', 'error']);
    expectAccepted(Thread, { ...thread, status: 'sleeping' });
  });

  it('is created from an object that may be empty', () => {
    expectAccepted(ThreadCreate, {});
    expectAccepted(ThreadCreate, { thread_id: ID, metadata: { a: 1 }, if_exists: 'do_nothing' });
    expectAccepted(ThreadCreate, {
      thread_id: null,
      metadata: null,
      if_exists: null,
      ttl: { ttl: 1 },
      supersteps: [],
    });
    expect(placesOf(ThreadCreate, { thread_id: 'x', metadata: 1, if_exists: 'maybe' })).toEqual([
      'body.thread_id',
      'body.metadata',
      'body.if_exists',
    ]);
    expect(placesOf(ThreadCreate, [])).toEqual(['body']);
  });

  it('is changed and searched as the public client does', () => {
    expectAccepted(ThreadPatch, { metadata: { a: 1 } });
    expect(ThreadSearch.parse({})).toEqual({ limit: 10, offset: 0 });
    expect(placesOf(ThreadSearch, { limit: 0, status: 'x', ids: ['x'] }).sort()).toEqual([
      'body.ids.0',
      'body.limit',
      'body.status',
    ]);
  });
});

describe('Contract 001, Thread state', () => {
  const state = {
    values: { messages: [] },
    next: ['agent'],
    tasks: [{ id: 't' }],
    metadata: { step: 1, run_id: ID, source: 'loop', writes: { agent: {} } },
    created_at: NOW,
    checkpoint_id: 'c2',
    parent_checkpoint_id: 'c1',
  };

  it('is as the contract shows it', () => {
    expect(ThreadState.parse(state)).toEqual(state);
  });

  it('has metadata as the contract shows it', () => {
    expectAccepted(ThreadStateMetadata, {
      ...state.metadata,
      user_id: 'u',
      graph_id: 'agent',
      thread_id: ID,
      created_by: 'system',
      assistant_id: ID,
    });
    expectAccepted(ThreadStateMetadata, {});
    expect(placesOf(ThreadStateMetadata, { step: 'one' })).toEqual(['body.step']);
  });

  it.each(['next', 'tasks'])('must have %s, an array', (field) => {
    expectRefused(ThreadState, { ...state, [field]: undefined }, `body.${field}`, 'missing');
    expectRefused(ThreadState, { ...state, [field]: {} }, `body.${field}`, 'list_type');
  });

  it('has its checkpoint ids lifted to where the contract has them', () => {
    const { checkpoint_id, parent_checkpoint_id, ...rest } = state;
    const nested = {
      checkpoint: { checkpoint_id },
      parent_checkpoint: { checkpoint_id: parent_checkpoint_id },
    };
    expect(ThreadState.parse({ ...rest, ...nested })).toMatchObject({ checkpoint_id, parent_checkpoint_id });
    expect(ThreadState.parse(rest)).toMatchObject({ checkpoint_id: null, parent_checkpoint_id: null });
  });

  it('is written and looked back on as the public client does', () => {
    expectAccepted(StateUpdate, { values: { a: 1 }, as_node: 'n', checkpoint: null });
    expectAccepted(StateUpdate, {});
    expect(HistoryQuery.parse({})).toEqual({ limit: 10 });
    expectAccepted(HistoryQuery, { limit: 1000, before: 'c1', metadata: {} });
    expectAccepted(HistoryQuery, { before: { configurable: { checkpoint_id: 'c1' } } });
    expect(placesOf(HistoryQuery, { limit: 1001 })).toEqual(['body.limit']);
  });
});

describe('An assistant (contract 001: not shown)', () => {
  it('has an id and a graph', () => {
    expectAccepted(Assistant, { assistant_id: ID, graph_id: 'agent', more: 1 });
    expect(placesOf(Assistant, {})).toEqual(['body.assistant_id', 'body.graph_id']);
  });

  it('is searched as the public client does', () => {
    expect(AssistantSearch.parse({})).toEqual({ limit: 10, offset: 0 });
    expect(placesOf(AssistantSearch, { sort_order: 'up' })).toEqual(['body.sort_order']);
  });
});
