import { Option } from 'commander';

import type { CommandTable } from './commandTable.ts';

export function addMessageCommands({ fileCommand, runs }: CommandTable): void {
  for (const [name, holding, description] of [
    ['hold', true, 'Put a target on hold: it rejects releases until the hold ends'],
    ['unhold', false, 'End a hold: the target accepts releases again'],
  ] as const) {
    fileCommand(`${name} [target]`, description, `slipway ${name} production --reason "incident 42"`)
      .option('--reason <text>', 'why: shown to other people')
      .action(runs(async () => (await import('../commands/target/blocks.ts')).runHoldCommand, holding));
  }

  for (const [kind, description] of [
    ['abort', 'Abort a release, and restore what it changed'],
    ['pause', 'Pause the running release before its next step'],
    ['resume', 'Continue a paused release'],
    ['approve', 'Approve a release that waits for approval'],
    ['reject', 'Reject a release that waits for approval; it changes nothing'],
    ['retry', 'Retry a step whose outcome is unknown'],
    ['skip', 'Skip a check, the rest of the soak, the judge, or a freeze'],
  ] as const) {
    const example = kind === 'skip' ? 'skip production --check greets' : `${kind} production`;
    const said = fileCommand(`${kind} [target]`, description, `slipway ${example} --reason "incident 42"`)
      .option('--reason <text>', 'why, for the record')
      .option('--release <id>', 'only this release (default: the running one)')
      .addOption(
        new Option('--promotion <promotion>', 'this promotion, instead of a release').conflicts('release'),
      );
    if (kind === 'skip') {
      said
        .addOption(new Option('--check <name>', 'the check to skip').conflicts(['soak', 'judge', 'freeze']))
        .addOption(new Option('--soak', 'skip the rest of the soak').conflicts(['judge', 'freeze']))
        .addOption(new Option('--judge', 'skip the judge: promote without its verdict').conflicts('freeze'))
        .option('--freeze', 'skip the freeze: do not wait for its end');
    }
    const load = async () => (await import('../commands/intervention/intervene.ts')).runInterventionCommand;
    said.action(runs(load, kind));
  }

  for (const [name, quarantined, description] of [
    ['quarantine', true, 'Block an artifact on a target: it rejects releases of it'],
    ['unquarantine', false, 'Unblock an artifact on a target'],
  ] as const) {
    fileCommand(
      `${name} <target> <artifact>`,
      description,
      `slipway ${name} production sha256:4be1f0c2 --reason "leaks memory"`,
    )
      .option('--reason <text>', 'why: shown to other people')
      .action(
        runs(async () => (await import('../commands/target/blocks.ts')).runQuarantineCommand, quarantined),
      );
  }
}
