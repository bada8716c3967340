import { NOTICE_EVENTS } from './notice.ts';
import { RECEIVER_KINDS, type ReceiverSpec } from './receiver.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The most receivers of a file. */
export const RECEIVERS_MAX = 20;
const TEXT_MAX_CHARACTERS = 1_000;

const REFERENCES: Readonly<Record<ReceiverSpec['kind'], readonly string[]>> = {
  slack: ['url'],
  webhook: ['url', 'secret'],
  github_deployment: ['token'],
  github_status: ['token'],
};

/** Says what is wrong with the receivers of a request, or `undefined` where nothing is; `undefined` is none of them. */
export function receiversProblem(notify: unknown): string | undefined {
  if (notify === undefined) return undefined;
  const right = Array.isArray(notify) && notify.length <= RECEIVERS_MAX && notify.every(isReceiver);
  return right ? undefined : `"notify" is not a list of at most ${RECEIVERS_MAX} receivers`;
}

function isReceiver(receiver: unknown): boolean {
  if (!isRecord(receiver) || !isText(receiver['name'])) return false;
  const kind = RECEIVER_KINDS.find((known) => known === receiver['kind']);
  if (kind === undefined || !areEvents(receiver['events'])) return false;
  if (!REFERENCES[kind].every((field) => isReference(receiver[field]))) return false;
  const isGithub = kind === 'github_deployment' || kind === 'github_status';
  return (
    (!isGithub || isText(receiver['apiUrl'])) &&
    ['repository', 'environment', 'context'].every(
      (field) => receiver[field] === undefined || isText(receiver[field]),
    )
  );
}

function areEvents(events: unknown): boolean {
  const known: readonly unknown[] = NOTICE_EVENTS;
  return events === undefined || (Array.isArray(events) && events.every((event) => known.includes(event)));
}

function isReference(value: unknown): boolean {
  return isRecord(value) && isText(value['from']);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= TEXT_MAX_CHARACTERS;
}

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
