import { z } from 'zod';

import { NAME_MAX } from '../limits.ts';
import { PageQuery } from '../pageQuery.ts';
import { oneOf, text, Timestamp, Uuid } from '../scalars.ts';

/** `refused`: the request was answered with 4xx and changed nothing; `failed`: 5xx. */
export const AuditOutcome = oneOf(['done', 'refused', 'failed']);
export type AuditOutcome = z.infer<typeof AuditOutcome>;

/** One change that was asked for: who, when, what, from where, and how it ended. */
export const AuditEntry = z.looseObject({
  /** Larger ones are later. */
  id: z.string(),
  at: Timestamp,
  tenant_id: Uuid,
  /** The id of an API key; `operator` for the platform's own, `platform` for what it does by itself. */
  key_id: z.string(),
  key_name: z.string(),
  /** The name of the endpoint. */
  operation: z.string(),
  /** The ids of what it was about, by name. */
  resources: z.record(z.string(), z.string()),
  /** The names of the fields that the request set; never their values. */
  changed: z.array(z.string()),
  outcome: AuditOutcome,
  /** What was answered; null where it was recorded with the change itself. */
  status: z.int().nullable(),
  address: z.string().nullable(),
  user_agent: z.string().nullable(),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

/** `GET /v1/audit`: newest first. */
export const AuditList = z.looseObject({ resources: z.array(AuditEntry), offset: z.int() });
export type AuditList = z.infer<typeof AuditList>;

/** Its query: every filter that is given has to fit. */
export const AuditQuery = z.object({
  ...PageQuery.shape,
  operation: text(NAME_MAX).optional(),
  key_id: text(NAME_MAX).optional(),
  /** The id of anything that was changed. */
  resource_id: text(NAME_MAX).optional(),
  outcome: AuditOutcome.optional(),
  since: Timestamp.optional(),
  until: Timestamp.optional(),
});
export type AuditQuery = z.infer<typeof AuditQuery>;
