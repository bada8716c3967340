import { describe, expect, it } from 'vitest';

import { FeedbackLinks, FeedbackQuery, FeedbackSubmission } from '../../src/runApi/feedback.ts';
import { expectAccepted, issuesOf, placesOf } from '../checking.ts';

describe('Contract 001, Feedback', () => {
  it('has a link for each key', () => {
    expectAccepted(FeedbackLinks, { score: 'https://trace.example/api/v1/feedback/tokens/7' });
    expect(placesOf(FeedbackLinks, { score: 'tokens/7', other: 7 })).toEqual(['body.score', 'body.other']);
  });

  it('accepts only optional and nullable fields', () => {
    expectAccepted(FeedbackSubmission, {});
    for (const field of Object.keys(FeedbackSubmission.shape))
      expectAccepted(FeedbackSubmission, { [field]: null });
    for (const value of [1, 'good', '']) expectAccepted(FeedbackSubmission, { value });
    expect(placesOf(FeedbackSubmission, { correction: '{}', value: true }).sort()).toEqual([
      'body.correction',
      'body.value',
    ]);
  });
});

describe('Contract 001, Feedback submission fields, with GET', () => {
  it.each([
    [{}, {}],
    [{ score: '-0.5e1' }, { score: -5 }],
    [{ value: '3' }, { value: 3 }],
    [{ value: '007' }, { value: '007' }],
    [{ value: 'good' }, { value: 'good' }],
    [{ value: '' }, { value: '' }],
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
  ])('rejects %j', (query, place) => {
    expect(placesOf(FeedbackQuery, query, 'query')).toEqual([place]);
  });

  it('reports that metadata requires POST', () => {
    expect(issuesOf(FeedbackQuery, { metadata: '{}' })[0]?.msg).toBe('Not supported with GET: use POST');
  });
});
