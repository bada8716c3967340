import type { HookRule } from '../../../config/hookSchema.ts';
import { loadConfig } from '../../../config/loadConfig.ts';
import { onSlipwayError, SlipwayError } from '../../../domain/errors.ts';
import { counted, decide } from '../../../domain/hooks/decide.ts';
import { type HookFacts, hookFacts, tallyKey } from '../../../domain/hooks/hookEvent.ts';
import { EMPTY_HOOK, type HookState, isAsking } from '../../../domain/hooks/hookState.ts';
import { isKnownEvent } from '../../../domain/hooks/takeDelivery.ts';
import type { ReadEvent } from '../../../hooks/form.ts';
import { readEvents } from '../../../hooks/forms.ts';
import { guardsOf, matchRules } from '../../../hooks/listeningHook.ts';
import { hookQuery } from '../../../messages/hooks.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import { type ListeningHook, viewHook } from '../../../temporal/client/hooks/hookClient.ts';
import { readProgress, viewTarget } from '../../../temporal/client/target/targetClient.ts';
import type { CommandContext, FileOptions } from '../../context.ts';
import type { EventOf } from '../../events/index.ts';
import { readNamed } from '../../namedFile.ts';
import { openTemporal } from '../../openTemporal.ts';
import { listeningHooks } from './listeningHooks.ts';

type Trial = Omit<EventOf<'hook_trial'>, 'event'>;

/**
 * `slipway hooks try HOOK PAYLOAD`: prints what each rule of a hook would do now with a payload. Sends nothing to the hook or
 * to a target. If Temporal cannot be reached, prints only which rules match.
 */
export async function runHookTryCommand(
  context: CommandContext,
  wanted: string,
  payload: string,
  options: FileOptions & { readonly event?: string },
): Promise<void> {
  const { output } = context;
  const [hook] = await listeningHooks(context, await loadConfig(options.config), wanted);
  if (hook === undefined) throw new SlipwayError('SLIPWAY_HOOK_UNKNOWN', `no hook "${wanted}"`);
  const header = (name: string): string | undefined =>
    name === 'x-github-event' ? options.event : undefined;
  const body = await readNamed(payload, 'the payload', 'name a file with the body of a delivery');
  const events = readEvents(hook.config.form, { body, header });
  if (events.length === 0) output.print('the payload has no events');
  const temporal = await openOrSay(context);
  try {
    const state =
      temporal === undefined ? undefined : ((await viewHook(temporal, hook, hookQuery)) ?? EMPTY_HOOK);
    for (const event of events) {
      output.print(
        `${output.style.strong(event.title)} ${output.style.faint(`${event.status}, ${event.id}`)}`,
      );
      for (const trial of await tryEvent({ hook, temporal, state }, event)) {
        output.event({ event: 'hook_trial', ...trial });
        output.print(`  ${trialText(trial)}`);
      }
    }
  } finally {
    await temporal?.close();
  }
}

/** The inputs of a trial. Absent: Temporal could not be reached. */
interface Looked {
  readonly hook: ListeningHook;
  readonly temporal: TemporalConnection | undefined;
  readonly state: HookState | undefined;
}

async function tryEvent(looked: Looked, event: ReadEvent): Promise<readonly Trial[]> {
  const { hook, state } = looked;
  const isKnown = state !== undefined && isKnownEvent(state, event);
  const trials: Trial[] = [];
  for (const { rule, targets, problem } of matchRules(hook, event)) {
    const about = { hook: hook.name, id: event.id, title: event.title, rule: rule.name, do: rule.do };
    if (problem !== undefined) trials.push({ ...about, target: null, outcome: 'no_match', note: problem });
    for (const target of targets) {
      const tried = isKnown
        ? ({ outcome: 'duplicate', note: 'it arrived before, and counts once' } as const)
        : await tryRule(looked, rule, target, event);
      trials.push({ ...about, target, ...tried });
    }
  }
  return trials;
}

async function tryRule(
  { hook, temporal, state }: Looked,
  rule: HookRule,
  target: string,
  event: ReadEvent,
): Promise<Pick<Trial, 'outcome' | 'note'>> {
  if (temporal === undefined || state === undefined)
    return { outcome: 'unknown', note: 'it matches; its guards need Temporal, which could not be reached' };
  const guards = guardsOf(rule, event);
  const now = Date.now();
  const before = state.tallies[tallyKey(rule.name, { target })] ?? { counted: [] };
  const situation = {
    do: rule.do,
    guards,
    event,
    now,
    tally: counted(before, guards, now),
    isAsking: isAsking(state, { rule: rule.name, target }),
  };
  const first = decide(situation);
  const verdict =
    first.kind === 'look'
      ? decide({
          ...situation,
          facts: await look(temporal, hook.targets.get(target) ?? '', guards.approval, now),
        })
      : first;
  const note = 'note' in verdict ? verdict.note : 'every guard is met';
  return { outcome: verdict.kind === 'look' ? 'unknown' : verdict.kind, note };
}

async function look(
  temporal: TemporalConnection,
  workflowId: string,
  hours: ReturnType<typeof guardsOf>['approval'],
  now: number,
): Promise<HookFacts> {
  const view = await viewTarget(temporal, workflowId);
  const running = view?.running ?? null;
  const progress = running === null ? undefined : await readProgress(temporal, running.workflowId);
  return hookFacts(view, progress, hours, now);
}

const OUTCOMES: Readonly<Record<Trial['outcome'], string>> = {
  act: 'would act',
  ask: 'would ask a person',
  not_met: 'would not act',
  no_match: 'is not for it',
  duplicate: 'would not act',
  unknown: 'matches',
};

function trialText({ rule, target, do: action, outcome, note }: Trial): string {
  const what = target === null ? '' : ` (${action} ${target})`;
  return `${rule}${what} ${OUTCOMES[outcome]}: ${note}`;
}

function openOrSay(context: CommandContext): Promise<TemporalConnection | undefined> {
  return openTemporal(context).catch(
    onSlipwayError(({ message }) => {
      context.output.warn(`${message}: only which rules match is shown`);
      return undefined;
    }, 'SLIPWAY_TEMPORAL_UNREACHABLE'),
  );
}
