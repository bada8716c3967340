import { Argument } from 'commander';

import { INJECTION_FORMS } from '../../domain/rehearsal/injection.ts';
import { traced } from '../tracedCommand.ts';
import type { CommandTable } from './commandTable.ts';
import { abortOnInterruptOption, configOption, numberOption, timeoutOption } from './options.ts';

/** A promotion may soak for a day, so it is followed longer than a release. */
const FOLLOW_FOR = '24h';
const PLANNED_DAYS = 14;
const REHEARSED_DAYS = 7;

export function addPromotionCommands({ command, runs }: CommandTable): void {
  command(
    'promote [promotion]',
    'Release on one target the artifact verified on another, after its soak and required approvals',
    'slipway promote canary-to-production --reason "faster greetings"',
  )
    .addOption(configOption())
    .option('--reason <text>', 'why, for the record')
    .option('--override-freeze', 'promote although a freeze is in force; needs --reason')
    .option('--no-wait', 'return once the promotion has begun')
    .addOption(abortOnInterruptOption('promotion'))
    .addOption(timeoutOption(FOLLOW_FOR))
    .action(
      runs(async () =>
        traced('slipway promote', (await import('../commands/promotion/promote.ts')).runPromoteCommand),
      ),
    );

  command(
    'schedule',
    'Manage the schedules of promotions: apply slipway.yaml, list, pause, resume, trigger',
    'slipway schedule apply --dry-run',
    'slipway schedule pause canary-to-production --reason "incident 42"',
  )
    .addArgument(new Argument('<what>').choices(['apply', 'list', 'pause', 'resume', 'trigger']))
    .argument('[promotion]')
    .addOption(configOption())
    .option('--reason <text>', 'why you pause or resume it')
    .option('--dry-run', 'apply: only show the difference')
    .option('--prune', 'apply: remove schedules of these targets that slipway.yaml does not declare')
    .action(runs(async () => (await import('../commands/schedule/schedule.ts')).runScheduleCommand));

  command(
    'plan',
    'Show what would happen: a "release" on a target now, or each "promotion" of the coming days',
    'slipway plan release staging',
    'slipway plan promotion',
    'slipway plan promotion canary-to-production --days 30',
  )
    .addArgument(new Argument('<what>').choices(['release', 'promotion']))
    .argument('[name]')
    .addOption(configOption())
    .option('--days <count>', 'how many days of promotions to plan', numberOption, PLANNED_DAYS)
    .action(runs(async () => (await import('../commands/plan.ts')).runPlanCommand));

  command(
    'rehearse [promotion]',
    'Simulate promotions, with the failures you inject: a week in seconds; changes no target',
    'slipway rehearse',
    'slipway rehearse canary-to-production --inject "check greets fails at 3h of the soak"',
    'slipway rehearse --days 14 --with incidents.txt',
  )
    .addOption(configOption())
    .option('--days <count>', 'how many days to rehearse', numberOption, REHEARSED_DAYS)
    .option('--inject <sentence>', 'inject an event or a failure; may be repeated', repeated)
    .option('--with <file>', 'a file with one such sentence per line')
    .addHelpText('after', REHEARSED)
    .action(runs(async () => (await import('../commands/rehearsal/rehearse.ts')).runRehearseCommand));
}

function repeated(text: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, text];
}

const REHEARSED = `
What you can inject:
${INJECTION_FORMS.map((form) => `  ${form}`).join('\n')}

A TIME is a duration since the rehearsal began (26h), or since a promotion began to soak or to bake
("3h of the soak"), or a moment: "22:00" for every day, "Tue 22:00" for every week, "2026-12-23 18:00".
A WHEN is "at TIME" (once, from then on), "from TIME", or "from TIME to TIME"; without one, always.

Exits with 0 at the end of the rehearsal, whatever the outcomes of its promotions.`;
