import type { AuditEntry } from '@slipway/contract/controlPlane/access';

import type { CommandContext } from '../../context.ts';
import { type PlatformClientOptions, withPlatform } from './platformClient.ts';

/** The options of `slipway platform audit`. */
export interface AuditOptions extends PlatformClientOptions {
  /** How many of the newest changes are shown: 1 to 100. */
  readonly last: number;
  readonly operation?: string;
  /** The id of anything that was changed. */
  readonly resource?: string;
}

/** `slipway platform audit`: the newest changes, the newest first. */
export async function runAuditCommand(context: CommandContext, options: AuditOptions): Promise<number> {
  const { last, operation, resource } = options;
  const { resources } = await withPlatform(context, options, (client) =>
    client.listAudit({
      limit: Math.min(last, PAGE_MAX),
      operation,
      resource_id: resource,
    }),
  );
  for (const entry of resources) {
    context.output.event({ event: 'change', ...entry });
    context.output.print(auditLine(entry));
  }
  return 0;
}

const PAGE_MAX = 100;

/** One line for people: when, who, what, how it ended. */
export function auditLine(entry: AuditEntry): string {
  const about = Object.values(entry.resources).join(' ');
  const ended = entry.status === null ? entry.outcome : `${entry.outcome} (${entry.status})`;
  const from = entry.address === null ? '' : ` from ${entry.address}`;
  const changed = entry.changed.length === 0 ? '' : ` [${entry.changed.join(', ')}]`;
  return `${entry.at}  ${entry.key_name}${from}  ${entry.operation} ${about}${changed}  ${ended}`;
}
