import type { HookConfig, HookRule } from '../../config/hookSchema.ts';
import { formatDuration } from '../../domain/duration.ts';
import type { HookCount, HookDecision, HookRow } from '../../domain/hooks/hookState.ts';
import { actionText } from '../../domain/hooks/hookText.ts';
import type { ListeningHook } from '../../temporal/client/hooks/hookClient.ts';
import { approvalsOf, type TargetHook } from '../../temporal/client/hooks/targetHooks.ts';
import { mayRelease, type Viewer } from '../access/session.ts';
import { hookAnswerAddress } from '../actions/actionAddresses.ts';
import type { TargetSnapshot } from '../live/targetWatch.ts';
import { Chip, Moment, ScrollTable, type Tone, Until } from '../page/marks.tsx';
import { inNameOrder } from '../page/nameOrder.ts';

const EVENTS_SHOWN = 20;

interface HooksProps {
  readonly snapshot: Pick<TargetSnapshot, 'workflowId' | 'hooks'>;
  readonly ofFile: readonly ListeningHook[];
}

export function Hooks({ snapshot: { workflowId, hooks }, ofFile }: HooksProps) {
  const shown = hooksOnPage(workflowId, hooks, ofFile);
  return (
    <div id="hooks" class="stack">
      {shown.length > 0 && (
        <section>
          <h2>Hooks</h2>
          {shown.map((hook) => (
            <Hook hook={hook} />
          ))}
        </section>
      )}
    </div>
  );
}

function Hook({ hook: { name, rows, past, rules } }: { readonly hook: HookOnPage }) {
  const earlier = Object.entries(past).map(([state, count]) => `${count} ${state.replaceAll('_', ' ')}`);
  return (
    <section class="hook">
      <h3>{name}</h3>
      <ul class="lines">
        {rules.map((rule) => (
          <Rule rule={rule} />
        ))}
      </ul>
      {rows === null && <p class="condition">The hook does not answer.</p>}
      {rows?.length === 0 && <p class="quiet">No event has matched yet.</p>}
      {rows !== null && rows.length > 0 && (
        <ScrollTable label={`Events of ${name}`} headings={['Event', 'Outcome', 'Rule', 'Arrived', 'Why']}>
          {rows
            .slice(-EVENTS_SHOWN)
            .reverse()
            .flatMap((row) => row.decisions.map((decision) => <Event row={row} decision={decision} />))}
        </ScrollTable>
      )}
      {earlier.length > 0 && (
        <p class="quiet small">{`Earlier events, on all targets: ${earlier.join(', ')}.`}</p>
      )}
    </section>
  );
}

function Rule({ rule: { name, does, accepts, onlyIf, count } }: { readonly rule: RuleOnPage }) {
  return (
    <li>
      <strong>{name}</strong>
      {`: ${does}${accepts === undefined ? '' : ` on ${accepts}`}`}
      {onlyIf.length === 0 ? '' : `, only if ${onlyIf.join('; ')}`}.{count && <Count count={count} />}
    </li>
  );
}

function Count({ count: { counted, countedAt, actedAt } }: { readonly count: HookCount }) {
  return (
    <span class="quiet">
      {actedAt !== undefined && (
        <>
          {' Acted last '}
          <Moment at={new Date(actedAt).toISOString()} />.
        </>
      )}
      {countedAt !== undefined && (
        <>
          {` Has counted ${counted} ${counted === 1 ? 'event' : 'events'}, the last `}
          <Moment at={new Date(countedAt).toISOString()} />.
        </>
      )}
    </span>
  );
}

const TONES: Readonly<Record<HookDecision['state'], Tone>> = {
  waiting: 'active',
  needs_approval: 'warn',
  carried_out: 'good',
  not_met: 'quiet',
  rejected: 'quiet',
  failed: 'warn',
};

function Event({ row, decision }: { readonly row: HookRow; readonly decision: HookDecision }) {
  const { title, status, at, deliveries } = row;
  return (
    <tr>
      <th scope="row">{status === 'resolved' ? `${title} (resolved)` : title}</th>
      <td>
        <Chip tone={TONES[decision.state]}>{decision.state.replaceAll('_', ' ')}</Chip>
      </td>
      <td>{decision.rule}</td>
      <td>
        <Moment at={at} />
        {deliveries === 1 ? '' : `, delivered ${deliveries} times`}
      </td>
      <td class="why">{decision.note}</td>
    </tr>
  );
}

export function EventApprovals({
  snapshot: { workflowId, hooks },
  viewer,
}: {
  readonly snapshot: Pick<TargetSnapshot, 'workflowId' | 'hooks'>;
  readonly viewer: Viewer;
}) {
  return (
    <>
      {hooks.flatMap((hook) =>
        approvalsOf([hook]).map(({ id, title, note, until, ...decision }) => (
          <section class="notice warn">
            <h3>{`Waits for approval: ${actionText(decision)}`}</h3>
            <p>{`After “${title}” (hook ${hook.name}, rule ${decision.rule}): ${note}.`}</p>
            {until && (
              <p class="facts">
                <Until at={until} />
              </p>
            )}
            {mayRelease(viewer) && (
              <nav class="actions" aria-label={`Answer to ${title}, ${decision.rule}`}>
                <a href={hookAnswerAddress(workflowId, hook.workflowId, id, 'approve')}>Approve …</a>
                <a href={hookAnswerAddress(workflowId, hook.workflowId, id, 'reject')}>Reject …</a>
              </nav>
            )}
          </section>
        )),
      )}
    </>
  );
}

interface RuleOnPage {
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
interface HookOnPage extends TargetHook {
  readonly rules: readonly RuleOnPage[];
}

function hooksOnPage(
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
  return inNameOrder(all, ({ name }) => name).map((hook) => {
    const known = own.find(({ workflowId }) => workflowId === hook.workflowId);
    return {
      ...hook,
      rules: known === undefined ? rulesOfEvents(hook) : rulesOfFile(known, targetId, hook),
    };
  });
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
