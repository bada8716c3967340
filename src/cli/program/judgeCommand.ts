import { InvalidArgumentError } from 'commander';

import type { CommandTable } from './commandTable.ts';
import { numberOption, wholeNumber } from './options.ts';

const countOption = wholeNumber(0, 9_999_999_999);

export function addJudgeCommand({ command, runs }: CommandTable): void {
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
    .addHelpText('after', EXIT_CODES)
    .action(runs(async () => (await import('../commands/judge/judge.ts')).runJudgeCommand));
}

function shareOption(text: string): number {
  const share = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text);
  if (!(share > 0 && share < 1)) throw new InvalidArgumentError('Expected a share such as 0.95 or 95%.');
  return share;
}

const EXIT_CODES = `
Exit codes: 0 passed, 2 failed, 3 errored (no verdict on the candidate), 4 inconclusive.`;
