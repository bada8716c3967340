import { z } from 'zod';

import { PATTERN_MAX_CHARACTERS, patternProblem } from '../domain/check/expectation.ts';
import { HOOK_ACTIONS } from '../domain/hooks/hookEvent.ts';
import { type Fields, fieldsOf, listOf, namedTwice } from './asWritten.ts';
import { unknownName } from './nearestWord.ts';
import type { FieldProblem } from './configProblem.ts';
import {
  possibleFreeze,
  SecretReference,
  Text,
  TimeLimit,
  TimeZone,
  unless,
  unlessAny,
  wholeNumber,
} from './fields.ts';

/** The forms of payloads, named after the products that send them. */
const HOOK_FORMS = ['alertmanager', 'grafana', 'github', 'langsmith', 'generic'] as const;
export type HookForm = (typeof HOOK_FORMS)[number];

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const Name = z.string().regex(NAME, 'expected letters, digits, dots and dashes, at most 64');

const Pattern = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.strictObject({
    matches: z
      .string()
      .max(PATTERN_MAX_CHARACTERS)
      .superRefine(unless(patternProblem))
      .describe('A regular expression that the value matches'),
  }),
]);

const ApprovalHours = z
  .strictObject({
    from: Text.describe('When the hours begin: "22:00" for every day, or "Fri 18:00"'),
    until: Text.describe('When they end, in the same form as from'),
    timeZone: TimeZone.default('UTC'),
    within: TimeLimit.default(3_600_000).describe('How long to wait for a person. Default: 1h'),
  })
  .superRefine(possibleFreeze);

const COUNT_MAX = 100;

const Rule = z
  .strictObject({
    name: Name.describe('The rule’s name, unique in the hook'),
    status: z
      .enum(['firing', 'resolved', 'any'])
      .default('firing')
      .describe('The alert’s status. An event without a status counts as firing. Default: firing'),
    match: z
      .record(Text, Pattern)
      .default({})
      .describe(
        'Required values of the event’s fields, by dot path: labels.alertname. Default: every event matches',
      ),
    do: z.enum(HOOK_ACTIONS).describe('The action that the rule requests'),
    targets: z
      .array(Text)
      .min(1)
      .max(20)
      .optional()
      .describe(
        'The targets; required for everything but promotion. With targetFrom: those that an event may name',
      ),
    targetFrom: Text.optional().describe(
      'The dot path of the field that names the target. Default: all targets',
    ),
    promotion: Text.optional().describe(
      'The promotion to start; required for do: promotion, not allowed for others',
    ),
    ifYoungerThan: TimeLimit.optional().describe(
      'Acts only if the serving revision was released at most this long ago, and the event began after that',
    ),
    ifRevision: Text.optional().describe(
      'Acts only if this field of the event, by dot path, names the revision, release, commit or artifact that serves',
    ),
    atLeast: z
      .strictObject({
        count: wholeNumber(2, COUNT_MAX).describe('How many events'),
        within: TimeLimit.describe('The time in which they must arrive'),
      })
      .optional()
      .describe('Acts only after this many matching events'),
    atMostOnePer: TimeLimit.optional().describe('Acts at most once in this time, for each target'),
    approvalBetween: ApprovalHours.optional().describe('When a person must approve it first'),
    hold: z
      .boolean()
      .optional()
      .describe('Whether a rollback puts the target on hold, as a manual one does. Default: true'),
  })
  .superRefine((rule, context) => {
    const wrong = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message });
    const isPromotion = rule.do === 'promotion';
    if (isPromotion !== (rule.promotion !== undefined))
      wrong('promotion', isPromotion ? 'expected, for do: promotion' : 'only for do: promotion');
    if (isPromotion === (rule.targets !== undefined))
      wrong('targets', isPromotion ? 'not for do: promotion' : `expected, for do: ${rule.do}`);
    if (isPromotion && rule.targetFrom !== undefined) wrong('targetFrom', 'not for do: promotion');
    if (rule.do !== 'rollback' && rule.hold !== undefined) wrong('hold', 'only for do: rollback');
  });

const Hook = z.strictObject({
  form: z
    .enum(HOOK_FORMS)
    .describe('The product that sends the events, which decides the form and the signature'),
  secret: SecretReference.describe(
    'The key of the signature, or the token or password that the product sends',
  ),
  on: z
    .array(Rule)
    .min(1)
    .max(50)
    .superRefine(unlessAny((rules) => namedTwice(rules, 'rules')))
    .describe('The rules: what to do on which events'),
});

export const Hooks = z.record(Name, Hook);
export type HookConfig = z.infer<typeof Hook>;
export type HookRule = HookConfig['on'][number];

/** Finds rules with unknown targets or promotions, and releases that need a proof, which no event can give. */
export function hookProblems(hooks: Fields, targets: Fields, promotions: Fields): readonly FieldProblem[] {
  const names = Object.keys(targets);
  /** @param instead - the command of a person for what a rule does; `undefined` if the rule does not release. */
  const ofTarget = (
    target: unknown,
    path: FieldProblem['path'],
    instead?: string,
  ): readonly FieldProblem[] => {
    if (typeof target !== 'string' || names.length === 0) return [];
    if (!names.includes(target)) return [{ path, message: unknownName('target', target, names) }];
    const { identity } = fieldsOf(fieldsOf(targets[target])['approval']);
    if (instead === undefined || identity === undefined) return [];
    const problem = `"${target}" has approval.identity, and an event cannot prove who asks`;
    return [{ path, message: `${problem}: remove the rule, and have a person run "${instead}"` }];
  };
  const ofPromotion = (name: string, path: FieldProblem['path']): readonly FieldProblem[] => {
    const known = Object.keys(promotions);
    if (!known.includes(name)) return [{ path, message: unknownName('promotion', name, known) }];
    return ofTarget(fieldsOf(promotions[name])['to'], path, `slipway promote ${name}`);
  };
  const ofRule = (rule: Fields, path: FieldProblem['path']): readonly FieldProblem[] => {
    const { do: action, targets: named, promotion } = rule;
    return [
      ...listOf(named).flatMap((target, at) => {
        const instead = action === 'release' ? `slipway release ${String(target)}` : undefined;
        return ofTarget(target, [...path, 'targets', at], instead);
      }),
      ...(typeof promotion === 'string' ? ofPromotion(promotion, [...path, 'promotion']) : []),
    ];
  };
  return Object.entries(hooks).flatMap(([name, hook]) =>
    listOf(fieldsOf(hook)['on']).flatMap((rule, index) =>
      ofRule(fieldsOf(rule), ['hooks', name, 'on', index]),
    ),
  );
}
