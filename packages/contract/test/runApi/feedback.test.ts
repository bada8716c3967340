import { describe, expect, it } from 'vitest';

import { FeedbackLinks, FeedbackQuery, FeedbackSubmission } from '../../src/runApi/feedback.ts';
import { expectAccepted, issuesOf, placesOf } from '../checking.ts';

describe('Contract 001, Feedback object', () => {
  it('maps each key to a link', () => {
    expectAccepted(FeedbackLinks, {});
    expectAccepted(FeedbackLinks, { score: 'https://trace.example/api/v1/feedback/tokens/7' });
    expect(placesOf(FeedbackLinks, { score: 'tokens/7', other: 7 })).toEqual(['body.score', 'body.other']);
  });
});

describe('Contract 001, Feedback submission fields, with POST', () => {
  it.each([
    ['score', [1, -1, 0.5], ['1', true]],
    ['value', [1, 'good', ''], [true, {}]],
    ['comment', ['', 'as expected'], [1]],
    ['correction', [{}, { a: [1] }], ['{}', []]],
    ['metadata', [{ by: 'a check' }], ['x']],
  ])('%s is optional', (field, right, wrong) => {
    for (const value of [undefined, null, ...right]) expectAccepted(FeedbackSubmission, { [field]: value });
    for (const value of wrong)
      expect(placesOf(FeedbackSubmission, { [field]: value })).toEqual([`body.${field}`]);
  });

  it('are exactly these', () => {
    expect(Object.keys(FeedbackSubmission.shape)).toEqual([
      'score',
      'value',
      'comment',
      'correction',
      'metadata',
    ]);
  });
});

describe('Contract 001, Feedback submission fields, with GET', () => {
  it.each([
    [{}, {}],
    [{ score: '1' }, { score: 1 }],
    [{ score: '-0.5e1' }, { score: -5 }],
    [{ value: '3' }, { value: 3 }],
    [{ value: '007' }, { value: '007' }],
    [{ value: 'good' }, { value: 'good' }],
    [{ value: '' }, { value: '' }],
    [{ comment: 'a & b' }, { comment: 'a & b' }],
    [{ correction: '{"a":"é"}' }, { correction: { a: 'é' } }],
  ])('reads %j as %j', (query, read) => {
    expect(FeedbackQuery.parse(query)).toEqual(read);
  });

  it.each([
    [{ score: 'high' }, 'query.score'],
    [{ score: '' }, 'query.score'],
    [{ score: '1e999' }, 'query.score'],
    [{ score: ['1', '2'] }, 'query.score'],
    [{ correction: 'no json' }, 'query.correction'],
    [{ correction: '[1]' }, 'query.correction'],
    [{ metadata: '{}' }, 'query.metadata'],
  ])('refuses %j', (query, place) => {
    expect(placesOf(FeedbackQuery, query, 'query')).toEqual([place]);
  });

  it('says that metadata needs POST', () => {
    expect(issuesOf(FeedbackQuery, { metadata: '{}' }, 'query')[0]?.msg).toBe(
      'Not supported with GET: use POST',
    );
  });
});
