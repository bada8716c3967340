import { describe, expect, it } from 'vitest';

import { GraphConfig } from '../src/graphConfig.ts';
import { expectAccepted, expectRefused, placesOf } from './checking.ts';

const RIGHT = { graphs: { agent: './src/agent.ts:graph' } };

describe('graph.json', () => {
  it('accepts both forms of naming graphs', () => {
    const both = {
      graphs: { a: './a.ts:graph', b: { path: './b.js:default', description: 'The other', more: 1 } },
    };
    expect(GraphConfig.parse(both).graphs).toEqual({
      a: { path: './a.ts:graph' },
      b: { path: './b.js:default', description: 'The other', more: 1 },
    });
  });

  it('requires at least one graph', () => {
    expectRefused(GraphConfig, {}, 'body.graphs', 'missing');
    expectRefused(GraphConfig, { graphs: {} }, 'body.graphs', 'too_short');
  });

  it.each(['a.ts:graph', './a.mts:createGraph', 'deep/er/a.js:$x_1', './ä/b.ts:größe', './a..b.ts:x'])(
    'accepts a graph at %s',
    (path) => expectAccepted(GraphConfig, { graphs: { agent: path } }),
  );

  it.each([
    './a.ts',
    ':graph',
    './a.ts:',
    './a.ts:1x',
    './a.ts:x y',
    './a.ts:x:y',
    '/a.ts:graph',
    '../a.ts:graph',
    './../a.ts:graph',
    'x/../../a.ts:graph',
    'x\n/../a.ts:graph',
    'C:/a.ts:graph',
    '.\\a.ts:graph',
    'http://evil/a.ts:graph',
    '',
  ])('rejects a graph at %j', (path) => {
    expect(placesOf(GraphConfig, { graphs: { agent: path } })[0]).toBe('body.graphs.agent');
    expect(placesOf(GraphConfig, { graphs: { agent: { path } } })[0]).toBe('body.graphs.agent.path');
  });

  it.each([
    ['env', ['.env', { A: 'b' }, ['A']], [{ 'A=B': 'c' }, { A: 1 }, '', 7, ['A=B']]],
    ['node_version', ['20', '22.1', '20.19.2'], [20, 'lts', '']],
    ['dependencies', [[], ['.']], ['.', ['']]],
  ])('accepts %s', (field, right, wrong) => {
    for (const value of [undefined, ...right]) expectAccepted(GraphConfig, { ...RIGHT, [field]: value });
    for (const value of wrong) {
      expect(placesOf(GraphConfig, { ...RIGHT, [field]: value })[0]).toMatch(
        new RegExp(`^body\\.${field}`, 'u'),
      );
    }
  });

  it('keeps unknown fields', () => {
    expect(GraphConfig.parse({ ...RIGHT, store: { ttl: 1 } })).toMatchObject({ store: { ttl: 1 } });
  });
});
