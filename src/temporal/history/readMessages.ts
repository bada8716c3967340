import { artifactIdentity } from '../../domain/artifact/artifact.ts';
import type { MessageFact } from '../../domain/audit/facts.ts';
import type { ReleaseRequest } from '../../domain/release/release.ts';
import type { ReleaseAnswer, RollbackAnswer } from '../../domain/target/targetState.ts';
import { readSender } from '../../messages/fields.ts';
import { readQuarantineMessage, readRollbackMessage } from '../../messages/target.ts';
import { decode, decodeAll, type History, type HistoryEvent, timeOf } from './payloads.ts';

/** Reads the messages that a target accepted, in order. Those that a reset run repeats count once. */
export function readMessages(histories: readonly History[]): readonly MessageFact[] {
  const found = new Map<string, MessageFact>();
  for (const { events } of histories) {
    const asked = new Map<string, readonly unknown[]>();
    let isReapplied = false;
    for (const event of events ?? []) {
      if (event.workflowTaskFailedEventAttributes?.newRunId) isReapplied = true;
      if (event.workflowTaskStartedEventAttributes != null) isReapplied = false;
      const accepted = event.workflowExecutionUpdateAcceptedEventAttributes;
      if (accepted != null) {
        const { name, args } = accepted.acceptedRequest?.input ?? {};
        asked.set(accepted.protocolInstanceId ?? '', [name, decode(args)]);
      }
      const said = isReapplied ? undefined : factOf(event, asked);
      if (said !== undefined) found.set(`${String(event.eventId)} at ${said.at}`, said);
    }
  }
  const taken = new Set<string>();
  return [...found.values()]
    .sort((one, other) => one.at - other.at)
    .filter((said) => {
      // A message that is sent again with the same id changes nothing.
      const id = idOf(said);
      if (id === '') return true;
      const isAgain = taken.has(id);
      taken.add(id);
      return !isAgain;
    });
}

function idOf(said: MessageFact): string {
  if (said.kind === 'queued') return said.submission;
  return said.kind === 'rollback' ? said.requestId : '';
}

function factOf(
  event: HistoryEvent,
  asked: ReadonlyMap<string, readonly unknown[]>,
): MessageFact | undefined {
  const at = timeOf(event);
  const signaled = event.workflowExecutionSignaledEventAttributes;
  if (signaled != null) return factOfMessage(signaled.signalName, decode(signaled.input), at);
  const { meta, outcome } = event.workflowExecutionUpdateCompletedEventAttributes ?? {};
  const id = meta?.updateId ?? '';
  const update = asked.get(id);
  if (update !== undefined && outcome?.success != null) {
    const [name, message] = update;
    return factOfMessage(name, message, at, { id, answer: decode(outcome.success) });
  }
  const scheduled = event.activityTaskScheduledEventAttributes;
  if (scheduled?.activityType?.name !== 'recallTarget') return undefined;
  const [input] = decodeAll(scheduled.input) as readonly { readonly afresh?: boolean }[];
  return input?.afresh === true ? { kind: 'started afresh', at } : undefined;
}

/** @param update - its id and answer; absent for a signal. */
function factOfMessage(
  name: unknown,
  message: unknown,
  at: number,
  { id, answer }: { readonly id: string; readonly answer: unknown } = { id: '', answer: undefined },
): MessageFact | undefined {
  switch (name) {
    case 'hold':
    case 'unhold':
      return typeof readSender(message, 'audit') === 'string' ? undefined : { kind: name, at };
    case 'retire':
      return { kind: 'retired', at };
    case 'quarantine':
    case 'unquarantine': {
      const read = readQuarantineMessage(message, 'audit');
      if (typeof read === 'string') return undefined;
      return { kind: name, at, artifact: typeof answer === 'string' ? answer : read.artifact };
    }
    case 'rollback': {
      const read = readRollbackMessage(message, 'audit', id);
      const { disposition } = (answer ?? {}) as Partial<RollbackAnswer>;
      if (typeof read === 'string') return undefined;
      if (disposition === 'ignored') {
        // A guard's rollback may be refused on an idle target: its time may be over.
        const isPersons = read.to === undefined && read.guard === undefined;
        return isPersons ? { kind: 'rollback refused', at } : undefined;
      }
      return { kind: name, at, requestId: read.requestId, to: read.to ?? null, leaves: read.from ?? null };
    }
    case 'submitRelease': {
      const { disposition, releaseId } = (answer ?? {}) as Partial<ReleaseAnswer>;
      if (disposition !== 'queued' || releaseId === undefined) return undefined;
      const { artifact, overrideHold } = message as ReleaseRequest;
      const what = { artifact: artifactIdentity(artifact), overridesHold: overrideHold === true };
      return { kind: 'queued', at, submission: id, releaseId, ...what };
    }
    default:
      return undefined;
  }
}
