import type { HookConfig, HookRule } from '../../config/hookSchema.ts';
import { formatDuration } from '../../domain/duration.ts';
import type { HookCount } from '../../domain/hooks/hookState.ts';
import { actionText } from '../../domain/hooks/hookText.ts';
import type { ListeningHook } from '../../temporal/client/hooks/hookClient.ts';
import type { TargetHook } from '../../temporal/client/hooks/targetHooks.ts';

export interface RuleOnPage {
  readonly name: string;
  /** `roll back production` */
  readonly does: string;
  /** Which events it accepts. Absent: the page does not know its `slipway.yaml`. */
  readonly accepts?: string;
  /** Its guards. Empty: none, or not known. */
  readonly onlyIf: readonly string[];
  /** Absent: it has neither acted nor counted an event. */
  readonly count?: HookCount;
}

/** A hook for a target: what its file says of it, and its events. */
export interface HookOnPage extends TargetHook {
  readonly rules: readonly RuleOnPage[];
}

export function hooksOnPage(
  targetId: string,
  running: readonly TargetHook[],
  ofFile: readonly ListeningHook[],
): readonly HookOnPage[] {
  const own = ofFile.filter(({ targets }) => [...targets.values()].includes(targetId));
  const silent = own.filter(({ workflowId }) => running.every((hook) => hook.workflowId !== workflowId));
  const all = [
    ...running,
    ...silent.map(({ name, workflowId }) => ({ name, workflowId, rows: [], past: {}, counts: {} })),
  ];
  return all
    .map((hook) => {
      const known = own.find(({ workflowId }) => workflowId === hook.workflowId);
      return {
        ...hook,
        rules: known === undefined ? rulesOfEvents(hook) : rulesOfFile(known, targetId, hook),
      };
    })
    .sort((one, other) => one.name.localeCompare(other.name));
}

function rulesOfEvents({ rows, counts }: TargetHook): readonly RuleOnPage[] {
  const rules = (rows ?? []).flatMap(({ decisions }) => decisions);
  return [...new Map(rules.map((decision) => [decision.rule, decision])).values()].map((decision) => ({
    name: decision.rule,
    does: actionText(decision),
    onlyIf: [],
    count: counts[decision.rule],
  }));
}

function rulesOfFile(
  { config, targets, promotions }: ListeningHook,
  targetId: string,
  { counts }: TargetHook,
): readonly RuleOnPage[] {
  return config.on.flatMap((rule): readonly RuleOnPage[] => {
    const { promotion } = rule;
    const named = promotion === undefined ? (rule.targets ?? []) : [promotions.get(promotion) ?? ''];
    const target = named.find((name) => targets.get(name) === targetId);
    if (target === undefined) return [];
    return [
      {
        name: rule.name,
        does: `${actionText({ do: rule.do, target })}${promotion === undefined ? '' : ` (${promotion})`}`,
        accepts: acceptsText(config, rule),
        onlyIf: guardTexts(rule, target),
        count: counts[rule.name],
      },
    ];
  });
}

/** `firing alertmanager events with labels.alertname AnswersWorse` */
function acceptsText({ form }: HookConfig, { status, match }: HookRule): string {
  const fields = Object.entries(match).map(([path, pattern]) =>
    typeof pattern === 'object' ? `${path} matching ${pattern.matches}` : `${path} ${String(pattern)}`,
  );
  const which = status === 'any' ? '' : `${status} `;
  return `${which}${form} events${fields.length === 0 ? '' : ` with ${fields.join(', ')}`}`;
}

function guardTexts(rule: HookRule, target: string): readonly string[] {
  const { targetFrom, ifYoungerThan, ifRevision, atLeast, atMostOnePer, approvalBetween: hours } = rule;
  return [
    ...(targetFrom === undefined ? [] : [`${targetFrom} names ${target}`]),
    ...(ifYoungerThan === undefined
      ? []
      : [`the release is at most ${formatDuration(ifYoungerThan)} old, and the event began after it`]),
    ...(ifRevision === undefined ? [] : [`${ifRevision} names what serves`]),
    ...(atLeast === undefined
      ? []
      : [`${atLeast.count} events arrive within ${formatDuration(atLeast.within)}`]),
    ...(atMostOnePer === undefined ? [] : [`it has not acted for ${formatDuration(atMostOnePer)}`]),
    ...(hours === undefined
      ? []
      : [`a person approves, from ${hours.from} until ${hours.until} (${hours.timeZone})`]),
  ];
}
