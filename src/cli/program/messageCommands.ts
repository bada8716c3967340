import { Option } from 'commander';

import type { InterventionOptions } from '../commands/intervention/intervene.ts';
import type { HoldOptions } from '../commands/target/hold.ts';
import type { QuarantineOptions } from '../commands/target/quarantine.ts';
import type { CommonOptions } from '../context.ts';
import type { CommandTable } from './commandTable.ts';
import { configOption } from './targetOptions.ts';

/** Saying one thing to a target, or to the release that runs on it. */
export function addMessageCommands({ command, run }: CommandTable): void {
  for (const [name, holding, description] of [
    ['hold', true, 'Take no release on a target until the hold is ended'],
    ['unhold', false, 'End a hold: the target takes releases again'],
  ] as const) {
    command(`${name} [target]`, description, `slipway ${name} production --reason "incident 42"`)
      .addOption(configOption())
      .option('--reason <text>', 'why, for whoever finds it')
      .action((target: string | undefined, options: CommonOptions & HoldOptions) =>
        run(options, async (context) =>
          (await import('../commands/target/hold.ts')).runHoldCommand(context, holding, target, options),
        ),
      );
  }

  for (const [kind, description] of [
    ['abort', 'Stop the release that runs, and put back what it changed'],
    ['pause', 'Let the release that runs begin no further step'],
    ['resume', 'Let a paused release go on'],
    ['approve', 'Approve a release that waits for it'],
    ['reject', 'End a release that waits for approval, with nothing changed'],
    ['retry', 'Take up the step again that nobody could tell the outcome of'],
    ['skip', 'Leave a check, the rest of the soak, the judge, or a freeze out'],
  ] as const) {
    const example = kind === 'skip' ? 'skip production --check greets' : `${kind} production`;
    const said = command(`${kind} [target]`, description, `slipway ${example} --reason "incident 42"`)
      .addOption(configOption())
      .option('--reason <text>', 'why, for the record')
      .option('--release <id>', 'only this release (default: the one that runs)')
      .option('--promotion <name>', 'this promotion, instead of a release');
    if (kind === 'skip') {
      said
        .addOption(
          new Option('--check <name>', 'the check that is left out').conflicts(['soak', 'judge', 'freeze']),
        )
        .addOption(new Option('--soak', 'leave the rest of the soak out').conflicts(['judge', 'freeze']))
        .addOption(new Option('--judge', 'promote without the verdict of the judge').conflicts('freeze'))
        .option('--freeze', 'do not wait for the end of a freeze');
    }
    said.action((target: string | undefined, options: CommonOptions & InterventionOptions) =>
      run(options, async (context) =>
        (await import('../commands/intervention/intervene.ts')).runInterventionCommand(
          context,
          kind,
          target,
          options,
        ),
      ),
    );
  }

  for (const [name, quarantined, description] of [
    ['quarantine', true, 'Take no release of an artifact on a target any more'],
    ['unquarantine', false, 'Take releases of an artifact again'],
  ] as const) {
    command(
      `${name} <target> <artifact>`,
      description,
      `slipway ${name} production sha256:4be1f0c2 --reason "leaks memory"`,
    )
      .addOption(configOption())
      .option('--reason <text>', 'why, for whoever finds it')
      .action((target: string, artifact: string, options: CommonOptions & QuarantineOptions) =>
        run(options, async (context) =>
          (await import('../commands/target/quarantine.ts')).runQuarantineCommand(
            context,
            quarantined,
            target,
            artifact,
            options,
          ),
        ),
      );
  }
}
