import { Argument, InvalidArgumentError } from 'commander';

import { INJECTION_FORMS } from '../../domain/rehearsal/injection.ts';
import type { CommandTable } from './commandTable.ts';
import { abortOnInterruptOption, numberOption, timeoutOption, wholeNumber } from './options.ts';

/** A promotion may soak for a day, so it is followed longer than a release. */
const FOLLOW_FOR = '24h';
const PLANNED_DAYS = 14;
const REHEARSED_DAYS = 7;

export function addPromotionCommands(table: CommandTable): void {
  const { fileCommand, runs, runsTraced } = table;
  fileCommand(
    'promote [promotion]',
    'Release on one target the artifact verified on another, after its soak and required approvals',
    'slipway promote canary-to-production --reason "faster greetings"',
  )
    .option('--reason <text>', 'why, for the record')
    .option('--override-freeze', 'promote although a freeze is in force; needs --reason')
    .option('--no-wait', 'return once the promotion has begun')
    .addOption(abortOnInterruptOption('promotion'))
    .addOption(timeoutOption(FOLLOW_FOR))
    .action(runsTraced(async () => (await import('../commands/promotion/promote.ts')).runPromoteCommand));

  fileCommand(
    'schedule',
    'Manage the schedules of promotions: apply slipway.yaml, list, pause, resume, trigger',
    'slipway schedule apply --dry-run',
    'slipway schedule pause canary-to-production --reason "incident 42"',
  )
    .addArgument(new Argument('<what>').choices(['apply', 'list', 'pause', 'resume', 'trigger']))
    .argument('[promotion]')
    .option('--reason <text>', 'why you pause, resume or trigger it')
    .option('--dry-run', 'apply: only show the difference')
    .option('--prune', 'apply: remove schedules of these targets that slipway.yaml does not declare')
    .action(runs(async () => (await import('../commands/schedule/schedule.ts')).runScheduleCommand));

  fileCommand(
    'plan',
    'Show what would happen: a "release" on a target now, or each "promotion" of the coming days',
    'slipway plan release staging',
    'slipway plan promotion',
    'slipway plan promotion canary-to-production --days 30',
  )
    .addArgument(new Argument('<what>').choices(['release', 'promotion']))
    .argument('[name]')
    .option('--days <count>', 'how many days of promotions to plan', numberOption, PLANNED_DAYS)
    .action(runs(async () => (await import('../commands/plan.ts')).runPlanCommand));

  fileCommand(
    'rehearse [promotion]',
    'Simulate promotions, with the failures you inject: a week in seconds; changes no target',
    'slipway rehearse',
    'slipway rehearse canary-to-production --inject "check greets fails at 3h of the soak"',
    'slipway rehearse --days 14 --with incidents.txt',
  )
    .option('--days <count>', 'how many days to rehearse', numberOption, REHEARSED_DAYS)
    .option('--inject <sentence>', 'inject an event or a failure; may be repeated', repeated)
    .option('--with <file>', 'a file with one such sentence per line')
    .addHelpText('after', REHEARSED)
    .action(runs(async () => (await import('../commands/rehearsal/rehearse.ts')).runRehearseCommand));

  addJudgeCommand(table);
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

const countOption = wholeNumber(0, 9_999_999_999);

function addJudgeCommand({ command, runs }: CommandTable): void {
  command(
    'judge',
    'Give two agents the same inputs, and report whether the candidate is worse',
    'slipway judge --baseline http://127.0.0.1:8123 --candidate http://127.0.0.1:8124 --assistant greeter --inputs inputs.jsonl',
    'slipway judge --baseline https://… --candidate https://… --assistant greeter --recorded --metric latency=10%',
  )
    .requiredOption('--baseline <url>', 'the agent that serves')
    .requiredOption('--candidate <url>', 'the agent that may replace it')
    .requiredOption('--assistant <name>', "the graph's name, or an assistant id")
    .option('--inputs <file>', 'the inputs: one JSON object per line, {"input": {…}, "expect": {…}}')
    .option(
      '--recorded',
      'instead of a file: the inputs of the successful runs on the threads of the baseline',
    )
    .option(
      '--max-inputs <count>',
      'draw a sample if there are more inputs than this (default: 400)',
      numberOption,
    )
    .option(
      '--repetitions <count>',
      'how often to run each input on each side (default: until there are 400 runs)',
      numberOption,
    )
    .option(
      '--concurrency <count>',
      'the most runs at the same time, both sides together (default: 4)',
      numberOption,
    )
    .option('--warm-up <count>', 'runs on each side that do not count (default: 3)', countOption)
    .option('--run-timeout <duration>', 'how long one run may take (default: 60s)')
    .option('--patience <duration>', 'how long to wait for an agent that does not answer (default: 30s)')
    .option('--confidence <share>', 'the confidence of a verdict (default: 0.95)', shareOption)
    .option(
      '--minimum-runs <count>',
      'the fewest counted runs of a side for a verdict (default: 20)',
      numberOption,
    )
    .option(
      '--metric <name=effect...>',
      'the metrics that decide, each with its smallest relevant effect (default: success=3% expectations=3% firstToken=15% latency=15%)',
    )
    .option('--score-path <path>', 'a dot path into the final values to a number: the metric score')
    .option('--evaluator <url>', 'instead of a path: the service that scores each run, docs/evaluators.md')
    .option('--evaluator-secret <reference>', 'signs the requests to the evaluator: env:NAME or file:/path')
    .option('--feedback-key <key>', "record each run's verdict through its feedback link under this key")
    .option('--seed <number>', 'the random seed of the sample and the order', countOption)
    .option('--api-key <reference>', 'the key sent to both agents: env:NAME or file:/path (default: none)')
    .option('--candidate-api-key <reference>', "the candidate's key, if it differs")
    .option('--markdown <file>', 'write the report to this file, too')
    .addHelpText('after', JUDGE_EXIT_CODES)
    .action(runs(async () => (await import('../commands/judge/judge.ts')).runJudgeCommand));
}

function shareOption(text: string): number {
  const share = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text);
  if (!(share > 0 && share < 1)) throw new InvalidArgumentError('Expected a share such as 0.95 or 95%.');
  return share;
}

const JUDGE_EXIT_CODES = `
Exit codes: 0 passed, 2 failed, 3 errored (no verdict on the candidate), 4 inconclusive.`;
