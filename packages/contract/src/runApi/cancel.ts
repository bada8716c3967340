import { z } from 'zod';

import { LIST_MAX } from '../limits.ts';
import { oneOf, QueryBoolean, Uuid } from '../scalars.ts';

/**
 * `interrupt` keeps the run and its checkpoints; `rollback` deletes both (contract 001, "States and transitions").
 * Default: `interrupt`.
 */
export const CancelAction = oneOf(['interrupt', 'rollback']);
export type CancelAction = z.infer<typeof CancelAction>;

/** The query of `POST …/runs/{run_id}/cancel`. `wait` is taken in every spelling that clients use (facts). */
export const CancelQuery = z.object({
  action: CancelAction.default('interrupt'),
  wait: QueryBoolean.default(false),
});
export type CancelQuery = z.infer<typeof CancelQuery>;

/** The query of `POST /runs/cancel`. */
export const BulkCancelQuery = z.object({ action: CancelAction.default('interrupt') });
export type BulkCancelQuery = z.infer<typeof BulkCancelQuery>;

/** Which runs a bulk cancel by status means; `all` is both. */
const BulkCancelStatus = oneOf(['pending', 'running', 'all']);
type BulkCancelStatus = z.infer<typeof BulkCancelStatus>;

/**
 * The body of `POST /runs/cancel`: either `thread_id` with `run_ids`, or `status` (contract 001, "Endpoints"; how they
 * combine is "not shown": decision, any mixture and any half is refused with 422, as in facts). Null is absent.
 */
export const BulkCancelBody = z
  .object({
    thread_id: Uuid.nullish(),
    run_ids: z.array(Uuid).min(1).max(LIST_MAX).nullish(),
    status: BulkCancelStatus.nullish(),
  })
  .superRefine((body, context) => {
    const refuse = (path: string, message: string, type: string): void => {
      context.addIssue({ code: 'custom', path: [path], message, params: { type } });
    };
    if (body.status != null) {
      if (body.thread_id != null)
        refuse('thread_id', 'Cannot be used together with status', 'not_applicable');
      if (body.run_ids != null) refuse('run_ids', 'Cannot be used together with status', 'not_applicable');
      return;
    }
    if (body.thread_id == null && body.run_ids == null) {
      refuse('status', 'Either thread_id with run_ids, or status, is required', 'missing');
    } else if (body.thread_id == null) {
      refuse('thread_id', 'Required by run_ids', 'missing');
    } else if (body.run_ids == null) {
      refuse('run_ids', 'Required by thread_id', 'missing');
    }
  });
export type BulkCancelBody = z.infer<typeof BulkCancelBody>;
