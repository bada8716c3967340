import type { Endpoint } from '../../endpoint.ts';
import { FeedbackPath, FeedbackQuery, FeedbackRecorded, FeedbackSubmission } from '../feedback.ts';
import { CONTRACT } from './origin.ts';

/** Feedback links: pre-signed, so they carry no key (contract 001, "Authentication"). */
export const FEEDBACK_ENDPOINTS = {
  submitFeedback: {
    service: 'tracing',
    method: 'POST',
    path: '/api/v1/feedback/tokens/{token_id}',
    params: FeedbackPath,
    request: FeedbackSubmission,
    response: FeedbackRecorded,
    success: 200,
    errors: [404, 422],
    section: CONTRACT,
  },
  submitFeedbackByQuery: {
    service: 'tracing',
    method: 'GET',
    path: '/api/v1/feedback/tokens/{token_id}',
    params: FeedbackPath,
    query: FeedbackQuery,
    response: FeedbackRecorded,
    success: 200,
    errors: [404, 422],
    section: CONTRACT,
  },
} as const satisfies Record<string, Endpoint>;
