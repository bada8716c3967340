import { Argument, Option } from 'commander';

import type { CommandTable } from './commandTable.ts';
import {
  abortOnInterruptOption,
  configOption,
  numberOption,
  retentionAgeOption,
  timeoutOption,
} from './options.ts';

export function addReleaseCommands({ command, fileCommand, runs, runsTraced }: CommandTable): void {
  fileCommand(
    'release [target]',
    'Release the source on a target, and follow it',
    'slipway release production --reason "faster greetings"',
    'slipway release staging --no-wait',
  )
    .option('--reason <text>', 'why, for the record')
    .option('--override-hold', 'release although the target is on hold')
    .option('--strict', 'reject a source that contains what looks like a secret')
    .option('--override-freeze', 'release although a freeze is in force; needs --reason')
    .option('--no-wait', 'return once the release is queued')
    .addOption(abortOnInterruptOption('release'))
    .addOption(timeoutOption())
    .action(runsTraced(async () => (await import('../commands/release/release.ts')).runReleaseCommand));

  fileCommand(
    'check [target]',
    'Run the checks of slipway.yaml on an agent, without releasing',
    'slipway check staging',
    'slipway check http://127.0.0.1:8123',
    'slipway check http://127.0.0.1:8123 --junit checks.xml',
  )
    .usage('[options] [target|URL]')
    .option('--api-key <reference>', 'the key for the agent at a URL: env:NAME or file:/path (default: none)')
    .option('--concurrency <count>', 'how many checks at once', numberOption, 4)
    .option('--junit <file>', 'write the results to this file, as JUnit XML')
    .action(runs(async () => (await import('../commands/check/check.ts')).runCheckCommand));

  fileCommand(
    'rollback [target]',
    'Restore an earlier verified revision immediately, and put the target on hold',
    'slipway rollback production --reason "answers in French"',
    'slipway rollback production --to release-12',
    'slipway rollback production --break-glass --reason "Temporal is down"',
  )
    .option('--reason <text>', 'why: shown with the hold and recorded')
    .option(
      '--to <revision>',
      'a revision, the beginning of its id, or its release (default: the newest verified one of an earlier release)',
    )
    .option('--break-glass', 'call the control plane from here, without Temporal')
    .option('--no-wait', 'return once the target has accepted the rollback')
    .addOption(timeoutOption())
    .action(runsTraced(async () => (await import('../commands/rollback/rollback.ts')).runRollbackCommand));

  command(
    'preview',
    'Release a pull request on a separate deployment, remove it, or list the previews',
    'slipway preview --pr 123',
    'slipway preview down --pr 123 --reason "merged"',
    'slipway preview list',
  )
    .addArgument(new Argument('[what]').choices(['up', 'down', 'list']).default('up'))
    .option('--pr <number>', 'up, down: the number of the pull request or merge request', numberOption)
    .option('--name <name>', 'the preview of slipway.yaml, if it has several')
    .addOption(configOption())
    .option('--reason <text>', 'why, for the record')
    .option('--strict', 'up: reject a source that contains what looks like a secret')
    .option('--no-wait', 'return once the release is queued, or the removal has begun')
    .addOption(timeoutOption())
    .action(runsTraced(async () => (await import('../commands/preview/preview.ts')).runPreviewCommand));
}

/** The commands for `slipway.yaml`, the source and its stored artifacts. */
export function addSourceCommands({ command, fileCommand, runs }: CommandTable): void {
  command(
    'lint [file]',
    'List the errors in slipway.yaml and its datasets, and settings without effect; change nothing',
    'slipway lint',
    'slipway lint --strict services/greeter/slipway.yaml',
  )
    .option('--strict', 'report settings without effect and missing graphs as errors')
    .action(runs(async () => (await import('../commands/lint/lint.ts')).runLintCommand));

  fileCommand(
    'pack',
    'Show what a release would deploy, with its digest; deploy nothing',
    'slipway pack --list',
    'slipway pack --strict --output ../source.tar.gz',
  )
    .option('--list', 'print every packed path')
    .option('--output <file>', 'write the tarball there')
    .option('--strict', 'reject a source that contains what looks like a secret')
    .action(runs(async () => (await import('../commands/artifact/pack.ts')).runPackCommand));

  fileCommand(
    'prune',
    'Remove old artifacts from the artifact store; keep those that a target, a promotion or a schedule needs',
    'slipway prune --dry-run',
    'slipway prune --older-than 90d --keep 50',
  )
    .option('--dry-run', 'show what would be removed, and why the rest is kept')
    .option(
      '--older-than <duration>',
      'remove only artifacts older than this, at least 1h (default: artifact.prune.olderThan, or 30d)',
      retentionAgeOption,
    )
    .option(
      '--keep <count>',
      'keep the last COUNT released artifacts of each target (default: artifact.prune.keep, or 20)',
      numberOption,
    )
    .option('--forget <target...>', 'keep nothing for a target that Temporal no longer knows')
    .action(runs(async () => (await import('../commands/artifact/prune.ts')).runPruneCommand));
}

const TAIL_LINES = 200;

export function addLookCommands({ fileCommand, runs }: CommandTable): void {
  fileCommand(
    'audit [target]',
    'Check past releases against the safety rules of Slipway',
    'slipway audit production',
  ).action(runs(async () => (await import('../commands/audit.ts')).runAuditCommand));

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
