import { Argument } from 'commander';

import {
  abortOnInterruptOption,
  type CommandTable,
  configOption,
  numberOption,
  retentionAgeOption,
  timeoutOption,
} from './commandTable.ts';

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
    'slipway pack --strict --output source.tar.gz',
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

  fileCommand(
    'audit [target]',
    'Check past releases against the safety rules of Slipway',
    'slipway audit production',
  ).action(runs(async () => (await import('../commands/audit.ts')).runAuditCommand));
}
