import { Command, Option } from 'commander';

import { type AuditOptions } from './audit.ts';
import { type CommandContext, commandContext, type CommonOptions } from './context.ts';
import { type DemoOptions } from './demo.ts';
import { type DevOptions } from './dev.ts';
import { type DoctorCommandOptions } from './doctor.ts';
import { exitWithParent } from './exitWithParent.ts';
import { type HoldOptions } from './hold.ts';
import { type InterventionOptions } from './intervene.ts';
import { durationOption, numberOption, portOption } from './options.ts';
import { type PlatformCommandOptions } from './platform.ts';
import { addAccessCommands } from './platform/accessCommands.ts';
import { addIntegrationsCommand } from './platform/integrationsCommand.ts';
import { addListenersCommand } from './platform/listenersCommand.ts';
import { type QuarantineOptions } from './quarantine.ts';
import { type ReleaseOptions } from './release.ts';
import { type RollbackOptions } from './rollback.ts';
import { type StatusOptions } from './status.ts';

/** How the command line is built. */
export interface ProgramOptions {
  readonly version: string;
  /** Told the exit code of the command that ran. */
  readonly onExit: (exitCode: number) => void;
}

const FOLLOW_FOR_MS = 3_600_000;
/** A platform started alone takes this port, as the one of `slipway dev` does. */
const PLATFORM_PORT = 4700;

/**
 * The command line: every command with its options, its help and its examples. Each command's code is loaded when it
 * runs, so that `--help` and `status` do not load the worker.
 */
export function buildProgram({ version, onExit }: ProgramOptions): Command {
  const program = new Command('slipway')
    .description('Releases agents, and takes them back.')
    .version(version)
    .showSuggestionAfterError()
    .exitOverride()
    // What is wrong with the command line is told by the caller, in the one way that errors are told.
    .configureOutput({ outputError: () => undefined })
    .addHelpText('after', EXIT_CODES);

  const command = (name: string, description: string, ...examples: readonly string[]): Command => {
    const made = program
      .command(name)
      .description(description)
      .option('--json', 'print one JSON object per line (docs/json.md)')
      .option('--verbose', 'show stacks and causes of errors')
      .option('--home <dir>', 'where state is kept (default: SLIPWAY_HOME, or .slipway)')
      .exitOverride()
      .configureOutput({ outputError: () => undefined });
    if (examples.length > 0) {
      made.addHelpText('after', `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`);
    }
    return made;
  };
  const run = async (options: CommonOptions, work: (context: CommandContext) => Promise<number>) => {
    const context = commandContext(options);
    const { printError } = await import('./errorReport.ts');
    try {
      onExit(await work(context));
    } catch (error) {
      onExit(printError(context.output, error));
    }
  };

  command('dev', 'Run everything on this machine: Temporal, the platform, a worker', 'slipway dev')
    .option(
      '--port <port>',
      `the control plane's port (default: ${PLATFORM_PORT} where it is free)`,
      portOption,
    )
    .option('--temporal-port <port>', "Temporal's port (default: 7233 where it is free)", portOption)
    .option(
      '--temporal-ui-port <port>',
      "the port of Temporal's UI (default: 8233 where it is free)",
      portOption,
    )
    .action((options: CommonOptions & DevOptions) =>
      run(options, async (context) => (await import('./dev.ts')).runDevCommand(context, options)),
    );

  command(
    'demo',
    'On a fresh state: release an agent, release a broken one, see it rolled back',
    'slipway demo',
    'slipway demo --keep',
  )
    .option('--keep', 'leave everything running at the end, to look at, until Ctrl-C')
    .action((options: CommonOptions & DemoOptions) =>
      run(options, async (context) => (await import('./demo.ts')).runDemoCommand(context, options)),
    );

  command(
    'release [target]',
    'Release the source on a target, and follow it',
    'slipway release production --reason "faster greetings"',
    'slipway release staging --no-wait',
  )
    .addOption(configOption())
    .option('--reason <text>', 'why, for the record')
    .option('--override-hold', 'release although the target is on hold')
    .option('--no-wait', 'return once the release is queued')
    .addOption(timeoutOption())
    .action((target: string | undefined, options: CommonOptions & ReleaseOptions) =>
      run(options, async (context) =>
        (await import('./release.ts')).runReleaseCommand(context, target, options),
      ),
    );

  command(
    'rollback [target]',
    'Put an earlier verified revision back, before everything else, and hold the target',
    'slipway rollback production --reason "answers in French"',
    'slipway rollback production --to 0f5c…',
    'slipway rollback production --break-glass --reason "Temporal is down"',
  )
    .addOption(configOption())
    .option('--reason <text>', 'why, for the record and for whoever finds the hold')
    .option('--to <revision>', 'the revision (default: the newest verified one before the active one)')
    .option('--break-glass', 'without Temporal: call the control plane from here')
    .option('--no-wait', 'return once the rollback is taken')
    .addOption(timeoutOption())
    .action((target: string | undefined, options: CommonOptions & RollbackOptions) =>
      run(options, async (context) =>
        (await import('./rollback.ts')).runRollbackCommand(context, target, options),
      ),
    );

  command('status [target]', 'What runs, waits and serves, and how the last releases ended', 'slipway status')
    .addOption(configOption())
    .option('--last <count>', 'how many ended releases are shown', numberOption, 5)
    .action((target: string | undefined, options: CommonOptions & StatusOptions) =>
      run(options, async (context) =>
        (await import('./status.ts')).runStatusCommand(context, target, options),
      ),
    );

  for (const [name, holding, description] of [
    ['hold', true, 'Take no release on a target until the hold is ended'],
    ['unhold', false, 'End a hold: the target takes releases again'],
  ] as const) {
    command(`${name} [target]`, description, `slipway ${name} production --reason "incident 42"`)
      .addOption(configOption())
      .option('--reason <text>', 'why, for whoever finds it')
      .action((target: string | undefined, options: CommonOptions & HoldOptions) =>
        run(options, async (context) =>
          (await import('./hold.ts')).runHoldCommand(context, holding, target, options),
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
    ['skip', 'Leave a check, or the rest of the soak, out'],
  ] as const) {
    const example = kind === 'skip' ? 'skip production --check greets' : `${kind} production`;
    const said = command(`${kind} [target]`, description, `slipway ${example} --reason "incident 42"`)
      .addOption(configOption())
      .option('--reason <text>', 'why, for the record')
      .option('--release <id>', 'only this release (default: the one that runs)');
    if (kind === 'skip') {
      said
        .addOption(new Option('--check <name>', 'the check that is left out').conflicts('soak'))
        .option('--soak', 'leave the rest of the soak out');
    }
    said.action((target: string | undefined, options: CommonOptions & InterventionOptions) =>
      run(options, async (context) =>
        (await import('./intervene.ts')).runInterventionCommand(context, kind, target, options),
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
          (await import('./quarantine.ts')).runQuarantineCommand(
            context,
            quarantined,
            target,
            artifact,
            options,
          ),
        ),
      );
  }

  command(
    'audit [target]',
    'Hold what happened against the rules that hold always',
    'slipway audit production',
  )
    .addOption(configOption())
    .action((target: string | undefined, options: CommonOptions & AuditOptions) =>
      run(options, async (context) => (await import('./audit.ts')).runAuditCommand(context, target, options)),
    );

  command('doctor', 'What is missing for a release, and the command that mends it', 'slipway doctor --fix')
    .addOption(configOption())
    .option('--fix', 'register what is missing in Temporal')
    .action((options: CommonOptions & DoctorCommandOptions) =>
      run(options, async (context) => (await import('./doctor.ts')).runDoctorCommand(context, options)),
    );

  command('worker', 'Carry releases out: a Temporal worker', 'SLIPWAY_API_KEY=… slipway worker').action(
    (options: CommonOptions) =>
      run(options, async (context) => (await import('./worker.ts')).runWorkerCommand(context)),
  );

  const platform = command(
    'platform',
    'Run the platform alone: control plane and agents',
    'slipway platform --port 4700',
  )
    .option('--port <port>', 'its port; 0 takes a free one', portOption, PLATFORM_PORT)
    .option('--host <host>', 'the address that it listens on (default: 127.0.0.1)')
    .addOption(
      new Option('--database-url <url>', 'any Postgres (default: an embedded one)').env('DATABASE_URL'),
    )
    .addOption(
      new Option('--vocabulary <whose>', 'the names on the wire: of the contract, of its public relative')
        .choices(['contract', 'public', 'both'])
        .default('both'),
    )
    .action((options: CommonOptions & Omit<PlatformCommandOptions, 'home' | 'json'>) =>
      run(options, async ({ home, environment }) => {
        exitWithParent(environment);
        const { port, host, databaseUrl, vocabulary } = options;
        const { runPlatformCommand } = await import('./platform.ts');
        await runPlatformCommand({
          port,
          home,
          json: options.json ?? false,
          ...(vocabulary === undefined ? {} : { vocabulary }),
          ...(host === undefined ? {} : { host }),
          ...(databaseUrl === undefined ? {} : { databaseUrl }),
        });
        return 0;
      }),
    );

  addIntegrationsCommand(platform, run);
  addListenersCommand(platform, run);
  addAccessCommands(platform, run);

  command('agent <dir>', "Serve one agent folder's Run API", 'slipway agent examples/greeter --port 8123')
    .option('--port <port>', 'its port; 0 takes a free one', portOption, 8123)
    .option('--host <host>', 'the address that it listens on (default: 127.0.0.1)')
    .option('--config <file>', 'the graph configuration (default: graph.json, or langgraph.json)')
    .action((dir: string, options: CommonOptions & { port: number; host?: string; config?: string }) =>
      run(options, async () => {
        const { port, host, config } = options;
        const { runAgentCommand } = await import('./agent.ts');
        await runAgentCommand({
          dir,
          port,
          json: options.json ?? false,
          ...(host === undefined ? {} : { host }),
          ...(config === undefined ? {} : { config }),
        });
        return 0;
      }),
    );

  const temporal = program
    .command('temporal')
    .description('Temporal on this machine')
    .exitOverride()
    .configureOutput({ outputError: () => undefined });
  temporal.addCommand(
    new Command('install')
      .description("Find the temporal command, or install it into the user's cache")
      .option('--json', 'print one JSON object per line (docs/json.md)')
      .option('--verbose', 'show stacks and causes of errors')
      .exitOverride()
      .configureOutput({ outputError: () => undefined })
      .action((options: CommonOptions) =>
        run(options, async (context) =>
          (await import('./temporalInstall.ts')).runTemporalInstallCommand(context),
        ),
      ),
  );
  return program;
}

function timeoutOption(): Option {
  return new Option('--timeout <duration>', 'stop following after this long: 90s, 5m, 1h30m')
    .argParser(durationOption)
    .default(FOLLOW_FOR_MS, '1h');
}

function configOption(): Option {
  return new Option('--config <file>', 'the file (default: slipway.yaml, here or in a folder above)');
}

const EXIT_CODES = `
Exit codes:
  0  released, or what was asked for is reached
  1  the command line or slipway.yaml is not right
  2  the release failed, and the previous revision serves
  3  a person is needed: rolling back failed, or nobody can tell
  4  aborted, rejected or superseded
  5  gave up waiting; the release goes on
  6  Temporal, its worker or the control plane could not be reached; nothing was started

Start here: slipway demo`;
