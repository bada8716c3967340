import { InvalidArgumentError } from 'commander';

import type { JudgeOptions } from '../commands/judge/judge.ts';
import type { CommonOptions } from '../context.ts';
import type { CommandTable } from './commandTable.ts';
import { numberOption } from './options.ts';

/** `slipway judge`. */
export function addJudgeCommand({ command, run }: CommandTable): void {
  command(
    'judge',
    'Give two agents the same inputs, and say whether the candidate is worse',
    'slipway judge --baseline http://127.0.0.1:8123 --candidate http://127.0.0.1:8124 --assistant greeter --inputs inputs.jsonl',
    'slipway judge --baseline https://… --candidate https://… --assistant greeter --recorded --metric latency=10%',
  )
    .requiredOption('--baseline <url>', 'the agent that serves')
    .requiredOption('--candidate <url>', 'the agent that may take its place')
    .requiredOption('--assistant <name>', "the graph's name, or an assistant id")
    .option('--inputs <file>', 'the inputs: one JSON object per line, {"input": {…}, "expect": {…}}')
    .option(
      '--recorded',
      'instead of a file: the inputs of the successful runs on the threads of the baseline',
    )
    .option('--max-inputs <count>', 'of more inputs, a sample of this many (default: 400)', numberOption)
    .option(
      '--repetitions <count>',
      'how often each input is run on each side (default: until there are 400 runs)',
      numberOption,
    )
    .option('--concurrency <count>', 'runs under way at once, both sides together (default: 4)', numberOption)
    .option('--warm-up <count>', 'runs on each side that do not count (default: 3)', countOption)
    .option('--run-timeout <duration>', 'how long one run may take (default: 60s)')
    .option('--patience <duration>', 'how long an agent that is away is waited for (default: 30s)')
    .option('--confidence <share>', 'how sure it must be (default: 0.95)', shareOption)
    .option('--minimum-runs <count>', 'the fewest runs of a side to decide from (default: 20)', numberOption)
    .option(
      '--metric <name=effect...>',
      'the metrics that decide, each with its smallest relevant effect (default: success=3% expectations=3% firstToken=15% latency=15%)',
    )
    .option('--score-path <path>', 'a dot path into the final values to a number: the metric score')
    .option('--feedback-key <key>', "record each run's verdict through its feedback link under this key")
    .option('--seed <number>', 'draws the sample and the order', countOption)
    .option('--api-key <reference>', 'the key sent to both agents: env:NAME or file:/path (default: none)')
    .option('--candidate-api-key <reference>', "the candidate's key, if it is another one")
    .option('--markdown <file>', 'write the report there, too')
    .addHelpText('after', EXIT_CODES)
    .action((options: CommonOptions & JudgeOptions) =>
      run(options, async (context) =>
        (await import('../commands/judge/judge.ts')).runJudgeCommand(context, options),
      ),
    );
}

function countOption(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('Expected a whole number from 0.');
  return Number(text);
}

function shareOption(text: string): number {
  const share = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text);
  if (!(share > 0 && share < 1)) throw new InvalidArgumentError('Expected a share such as 0.95 or 95%.');
  return share;
}

const EXIT_CODES = `
Exit codes: 0 passed, 2 failed, 3 errored (nothing is said about the candidate), 4 inconclusive.`;
