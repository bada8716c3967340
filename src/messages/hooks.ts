import { defineQuery, defineUpdate } from './define.ts';

import type { Actor } from '../domain/actor.ts';
import {
  HOOK_ACTIONS,
  type HookDelivery,
  type HookEvent,
  type HookGuards,
  type HookMatch,
} from '../domain/hooks/hookEvent.ts';
import type { HookEvents, HookState } from '../domain/hooks/hookState.ts';
import type { HookAnswer } from '../domain/hooks/takeDelivery.ts';
import {
  anyText,
  anything,
  choice,
  list,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  type Rule,
  text,
  whole,
} from '../domain/shape.ts';
import { isRecord } from '../domain/scalars.ts';
import { readActor, readTextFields, type Sender } from './fields.ts';

/** Take events; answers when each is kept, or was before. */
export const deliverEventsUpdate = defineUpdate<readonly HookAnswer[], [HookDelivery]>('deliverEvents');
/** Approve or reject what waits for approval of an event. */
export const answerHookUpdate = defineUpdate<boolean, [AnswerHookMessage]>('answerHook');
export const hookQuery = defineQuery<HookState>('hook');
/** What people look at: a small part of the state. */
export const hookEventsQuery = defineQuery<HookEvents>('hookEvents');

/** What a person may send as `answerHook`. */
export interface AnswerHookMessage extends Sender {
  readonly event: string;
  readonly approved: boolean;
}

/** What is wrong with a delivery; `undefined`: nothing. */
export function deliveryProblem(raw: unknown): string | undefined {
  if (!isRecord(raw)) return 'the delivery is not an object';
  return DELIVERY(raw, '');
}

/** Reads the answer of a person. */
export function readAnswerHook(raw: unknown):
  | {
      readonly event: string;
      readonly approved: boolean;
      readonly by: Actor;
      readonly requestId: string | undefined;
    }
  | string {
  const fields = readTextFields(raw);
  if (typeof fields === 'string') return fields;
  const { event, approved } = raw as Readonly<Record<string, unknown>>;
  if (typeof event !== 'string' || event === '') return '"event" is missing: the id of an event';
  if (typeof approved !== 'boolean') return '"approved" is neither true nor false';
  return { event, approved, by: readActor(fields, 'update'), requestId: fields['requestId'] };
}

const TEXT = text(1_000);
const DURATION = number(0, Number.MAX_SAFE_INTEGER);

const GUARDS = object<HookGuards>(() => ({
  youngerThanMs: optional(DURATION),
  revision: optional(nullable(anyText)),
  atLeast: optional(object<HookGuards['atLeast']>(() => ({ count: whole(1, 1_000), withinMs: DURATION }))),
  atMostOncePerMs: optional(DURATION),
  approval: optional(
    object<HookGuards['approval']>(() => ({
      from: TEXT,
      until: TEXT,
      timeZone: TEXT,
      withinMs: DURATION,
    })),
  ),
}));

const EVENT = object<HookEvent & { readonly matches: readonly HookMatch[] }>(() => ({
  id: TEXT,
  moved: optional(TEXT),
  title: TEXT,
  status: choice<HookEvent['status']>({ firing: true, resolved: true }),
  began: optional(instant),
  matches: list(
    object<HookMatch>(() => ({ rule: TEXT, guards: GUARDS, order: whole(0, MANY) })),
    MANY,
  ),
}));

const MANY = 2_500;

const ORDER = object<{
  target: string;
  workflowId: string;
  do: string;
  hold: unknown;
  kept: unknown;
  request: unknown;
}>(() => ({
  target: TEXT,
  workflowId: TEXT,
  do: oneOf(HOOK_ACTIONS),
  hold: anything,
  kept: optional(record),
  request: optional(record),
}));

const DELIVERY = object<HookDelivery>(() => ({ events: list(EVENT, MANY), orders: list(ORDER, MANY) }));

function instant(value: unknown, path: string): ReturnType<Rule> {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? undefined : `"${path}" is no time`;
}
