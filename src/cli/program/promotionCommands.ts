import { Argument } from 'commander';

import { INJECTION_FORMS } from '../../domain/rehearsal/injection.ts';
import type { PromoteOptions } from '../commands/promotion/promote.ts';
import type { RehearseOptions } from '../commands/rehearsal/rehearse.ts';
import type { PlanOptions } from '../commands/release/releasePlanned.ts';
import type { ScheduleOptions } from '../commands/schedule/schedule.ts';
import type { CommandContext, CommonOptions } from '../context.ts';
import type { CommandTable } from './commandTable.ts';
import { numberOption } from './options.ts';
import { abortOnInterruptOption, configOption, timeoutOption } from './targetOptions.ts';

/** A promotion may soak for a day: it is followed for longer than a release. */
const FOLLOW_FOR = '24h';
const PLANNED_DAYS = 14;
const REHEARSED_DAYS = 7;

/** Adds `slipway promote`, `slipway schedule …`, `slipway plan …` and `slipway rehearse`. */
export function addPromotionCommands({ command, run }: CommandTable): void {
  command(
    'promote [promotion]',
    'Release on one target what is verified on another, once it has soaked and whoever must has agreed',
    'slipway promote canary-to-production --reason "faster greetings"',
  )
    .addOption(configOption())
    .option('--reason <text>', 'why, for the record')
    .option('--override-freeze', 'promote although a freeze is in force; needs --reason')
    .option('--no-wait', 'return once the promotion has begun')
    .addOption(abortOnInterruptOption('promotion'))
    .addOption(timeoutOption(FOLLOW_FOR))
    .action((promotion: string | undefined, options: CommonOptions & PromoteOptions) =>
      run(options, async (context) =>
        (await import('../commands/promotion/promote.ts')).runPromoteCommand(context, promotion, options),
      ),
    );

  command(
    'schedule',
    'The times of promotions: apply (make them what slipway.yaml declares), list, pause, resume, trigger',
    'slipway schedule apply --dry-run',
    'slipway schedule pause canary-to-production --reason "incident 42"',
  )
    .addArgument(new Argument('<what>').choices(['apply', 'list', 'pause', 'resume', 'trigger']))
    .argument('[promotion]')
    .addOption(configOption())
    .option('--reason <text>', 'why it is paused, or goes on')
    .option('--dry-run', 'apply: show the difference alone')
    .option('--prune', 'apply: remove schedules of these targets that slipway.yaml does not declare')
    .action((what: string, promotion: string | undefined, options: CommonOptions & ScheduleOptions) =>
      run(options, async (context) => runSchedule(context, what, promotion, options)),
    );

  command(
    'plan <what> [name]',
    'What would happen, without doing it: "release" on a target now, or "promotion" in the coming days',
    'slipway plan release staging',
    'slipway plan promotion',
    'slipway plan promotion canary-to-production --days 30',
  )
    .addOption(configOption())
    .option('--days <count>', 'how many days of promotions are planned', numberOption, PLANNED_DAYS)
    .action((what: string, name: string | undefined, options: CommonOptions & PlanOptions) =>
      run(options, async (context) =>
        (await import('../commands/plan.ts')).runPlanCommand(context, what, name, options),
      ),
    );

  command(
    'rehearse [promotion]',
    'Carry promotions out in skipped time, with what is let go wrong: a week in seconds, and nothing is touched',
    'slipway rehearse',
    'slipway rehearse canary-to-production --inject "check greets fails at 3h of the soak"',
    'slipway rehearse --days 14 --with incidents.txt',
  )
    .addOption(configOption())
    .option('--days <count>', 'how many days are rehearsed', numberOption, REHEARSED_DAYS)
    .option('--inject <sentence>', 'let something happen; may be repeated', repeated)
    .option('--with <file>', 'a file of such sentences, one on each line')
    .addHelpText('after', REHEARSED)
    .action((promotion: string | undefined, options: CommonOptions & RehearseOptions) =>
      run(options, async (context) =>
        (await import('../commands/rehearsal/rehearse.ts')).runRehearseCommand(context, promotion, options),
      ),
    );
}

function repeated(text: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, text];
}

const REHEARSED = `
What can be let happen:
${INJECTION_FORMS.map((form) => `  ${form}`).join('\n')}

A TIME is a duration since the rehearsal began (26h), or since a promotion began to soak or to bake
("3h of the soak"), or a moment: "22:00" for every day, "Tue 22:00" for every week, "2026-12-23 18:00".
A WHEN is "at TIME" (once, from then on), "from TIME", or "from TIME to TIME"; without one, always.

Ends with 0 once the rehearsal is over, however its promotions ended.`;

async function runSchedule(
  context: CommandContext,
  what: string,
  promotion: string | undefined,
  options: ScheduleOptions,
): Promise<number> {
  const schedule = await import('../commands/schedule/schedule.ts');
  switch (what) {
    case 'apply':
      return schedule.runScheduleApply(context, options);
    case 'list':
      return schedule.runScheduleList(context, options);
    case 'pause':
    case 'resume':
      return schedule.runSchedulePause(context, what === 'pause', promotion, options);
    case 'trigger':
      return schedule.runScheduleTrigger(context, promotion, options);
    default: {
      const { SlipwayError } = await import('../../domain/errors.ts');
      throw new SlipwayError('SLIPWAY_USAGE', `there is no "schedule ${what}"`, {
        hint: 'one of: apply, list, pause, resume, trigger',
      });
    }
  }
}
