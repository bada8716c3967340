import { describe, expect, it } from 'vitest';

import {
  HistoryQuery,
  StateUpdate,
  Thread,
  ThreadCreate,
  ThreadPatch,
  ThreadSearch,
  ThreadState,
} from '../../src/runApi/thread.ts';
import { expectAccepted, placesOf } from '../checking.ts';

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

  it('has the contract’s shape at creation', () => {
    expect(Thread.parse(thread)).toEqual(thread);
  });

  it('requires its id, its times and its status', () => {
    const required = ['thread_id', 'created_at', 'updated_at', 'status'];
    expect(placesOf(Thread, {})).toEqual(required.map((field) => `body.${field}`));
  });

  it.each([
    ['metadata', {}],
    ['config', {}],
    ['values', null],
  ])('reads an absent %s as %j', (field, read) => {
    const { [field as 'values']: _, ...rest } = thread;
    expect(Thread.parse(rest)).toMatchObject({ [field]: read });
  });

  it('accepts unknown statuses', () => {
    expectAccepted(Thread, { ...thread, status: 'sleeping' });
  });

  it('is created from an empty object', () => {
    expectAccepted(ThreadCreate, {});
    expectAccepted(ThreadCreate, {
      thread_id: null,
      metadata: null,
      if_exists: null,
      ttl: { ttl: 1 },
      supersteps: [],
    });
  });

  it('accepts the public client’s updates and searches', () => {
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

  it('has the contract’s shape', () => {
    expect(ThreadState.parse(state)).toEqual(state);
  });

  it('requires its next nodes and its tasks', () => {
    expect(placesOf(ThreadState, {})).toEqual(['body.next', 'body.tasks']);
  });

  it('has its checkpoint ids at the places of the contract', () => {
    const { checkpoint_id, parent_checkpoint_id, ...rest } = state;
    const nested = {
      checkpoint: { checkpoint_id },
      parent_checkpoint: { checkpoint_id: parent_checkpoint_id },
    };
    expect(ThreadState.parse({ ...rest, ...nested })).toMatchObject({ checkpoint_id, parent_checkpoint_id });
    expect(ThreadState.parse(rest)).toMatchObject({ checkpoint_id: null, parent_checkpoint_id: null });
  });

  it('accepts the public client’s updates and history requests', () => {
    expectAccepted(StateUpdate, { values: { a: 1 }, as_node: 'n', checkpoint: null });
    expectAccepted(StateUpdate, {});
    expect(HistoryQuery.parse({})).toEqual({ limit: 10 });
    expectAccepted(HistoryQuery, { limit: 1000, before: 'c1', metadata: {} });
    expectAccepted(HistoryQuery, { before: { configurable: { checkpoint_id: 'c1' } } });
    expect(placesOf(HistoryQuery, { limit: 1001 })).toEqual(['body.limit']);
  });
});
