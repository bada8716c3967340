import { z } from 'zod';

import { tooFewApprovers } from '../domain/intervention/intervention.ts';
import { Duration, Text } from './scalarFields.ts';

const DAY_MS = 86_400_000;

/**
 * The fields of an approval, wherever one is asked for.
 *
 * @param byDefault - who may give it where nobody is named.
 */
export function approvalFields(byDefault: string) {
  return {
    required: z.int().min(1).max(100).default(1).describe('How many people must approve'),
    approvers: z.array(Text).min(1).max(100).optional().describe(`Who may. Default: ${byDefault}`),
    within: Duration.default(DAY_MS).describe('How long it is waited for. Default: 24h'),
  };
}

/** Reports an approval that can never be given, because too few people may give it. */
export function enoughApprovers(
  approval: Parameters<typeof tooFewApprovers>[0],
  context: z.core.$RefinementCtx,
): void {
  const message = tooFewApprovers(approval);
  if (message !== undefined) context.addIssue({ code: 'custom', path: ['required'], message });
}
