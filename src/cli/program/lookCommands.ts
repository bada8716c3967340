import { Option } from 'commander';

import { type CommandTable, numberOption, timeoutOption } from './commandTable.ts';

const TAIL_LINES = 200;

export function addLookCommands({ fileCommand, runs }: CommandTable): void {
  fileCommand(
    'status [target]',
    'Show what runs, waits and serves on targets, and their last releases',
    'slipway status',
  )
    .option('--last <count>', 'how many ended releases to show', numberOption, 5)
    .action(runs(async () => (await import('../commands/status/status.ts')).runStatusCommand));

  fileCommand(
    'watch [target]',
    'Follow the running or next release or rollback of a target to its end',
    'slipway watch production',
  )
    .addOption(timeoutOption())
    .action(runs(async () => (await import('../commands/watch.ts')).runWatchCommand));

  fileCommand(
    'history [target]',
    'List the releases and rollbacks of a target, newest first',
    'slipway history production',
  )
    .option('--last <count>', 'how many to show', numberOption, 20)
    .action(runs(async () => (await import('../commands/history/history.ts')).runHistoryCommand));

  fileCommand(
    'show [words...]',
    'Show one release: its steps, its checks, the commands that people sent, what it restored',
    'slipway show latest',
    'slipway show release-12 production',
    'slipway show --diff release-11 release-12 production',
    'slipway show release-12 --diff production',
    'slipway show latest --cost',
  )
    .usage('[options] [release|latest] [release] [target]')
    .option(
      '--diff',
      'compare configuration, files and dataset rows with another release (default: the one before)',
    )
    .option('--cost', 'also count the actions that Temporal Cloud bills for it')
    .action(runs(async () => (await import('../commands/show/show.ts')).runShowCommand));

  fileCommand(
    'logs [target]',
    'Print the log of a revision, or what all processes logged about a release',
    'slipway logs staging --stage build',
    'slipway logs production --follow',
    'slipway logs production --serving --tail 1000',
    'slipway logs production --release release-12',
  )
    .option('--revision <id>', 'the revision (default: the newest)')
    .addOption(
      new Option('--release <id>', 'all log lines about one release; latest: the newest').conflicts([
        'revision',
        'serving',
        'stage',
      ]),
    )
    .addOption(
      new Option('--serving', 'the revision that serves, instead of the newest').conflicts('revision'),
    )
    .addOption(
      new Option('--stage <stage>', 'only the log of the build, or of the agent').choices([
        'build',
        'deploy',
      ]),
    )
    .option('--tail <count>', 'how many of the last lines to print', numberOption, TAIL_LINES)
    .option('--follow', 'keep printing new lines')
    .action(runs(async () => (await import('../commands/logs/logs.ts')).runLogsCommand));
}
