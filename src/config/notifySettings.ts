import type { ReceiverSpec } from '../domain/notify/receiver.ts';
import { normalizeServiceUrl } from '../domain/target/targetSpec.ts';
import type { ReceiverConfig } from './notifySchema.ts';

/** Where GitHub's API is, unless the file says otherwise. */
const GITHUB_API = 'https://api.github.com';

/** The receivers of the file that are told of a target. */
export function notifySettings(
  receivers: readonly ReceiverConfig[],
  target: string,
): readonly ReceiverSpec[] {
  return receivers
    .filter(({ targets }) => targets === undefined || targets.includes(target))
    .flatMap((receiver) => toReceiver(receiver) ?? []);
}

/** The schema has seen to it that each kind has what it needs. */
function toReceiver(receiver: ReceiverConfig): ReceiverSpec | undefined {
  const { kind, name, events, url, secret, token, repository, environment, context } = receiver;
  const named = { name, events };
  if (kind === 'slack') return url && { kind, ...named, url };
  if (kind === 'webhook') return url && secret && { kind, ...named, url, secret };
  if (token === undefined) return undefined;
  const apiUrl = normalizeServiceUrl(receiver.apiUrl ?? GITHUB_API);
  const github = { ...named, apiUrl, token, repository };
  return kind === 'github_deployment' ? { kind, ...github, environment } : { kind, ...github, context };
}
