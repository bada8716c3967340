import { Command, Option } from 'commander';

import type { CompletionOptions } from '../commands/completion/completion.ts';
import type { DemoOptions } from '../commands/demo.ts';
import type { DevOptions } from '../commands/dev/dev.ts';
import type { DoctorCommandOptions } from '../commands/doctor/doctor.ts';
import { CI_KINDS } from '../commands/init/ciKinds.ts';
import type { InitOptions } from '../commands/init/init.ts';
import { loadPlatform } from '../commands/platform/loadPlatform.ts';
import { addPlatformCommand, PLATFORM_PORT } from '../commands/platform/platformCommand.ts';
import type { CommonOptions } from '../context.ts';
import { jsonLine } from '../output.ts';
import { type CommandTable, SILENT, withOutputOptions } from './commandTable.ts';
import { configOption, portOption } from './options.ts';

/** What runs on this machine: everything at once, or one part of it; and what this machine still lacks. */
export function addMachineCommands(table: CommandTable): void {
  addDevelopmentCommands(table);
  addServiceCommands(table);
  addPlatformCommand(
    table.command(
      'platform',
      'Run the platform alone: control plane and agents',
      'slipway platform --port 4700',
      'slipway platform --rate-limit 100 --keep-audit 90',
    ),
    table.run,
  );
  addInstallationCommands(table);
}

function addDevelopmentCommands({ command, run }: CommandTable): void {
  command('dev', 'Run everything on this machine: Temporal, the platform, a worker', 'slipway dev')
    .option(
      '--port <port>',
      `the control plane's port (default: ${PLATFORM_PORT}, or a free one)`,
      portOption,
    )
    .option('--temporal-port <port>', "Temporal's port (default: 7233, or a free one)", portOption)
    .option(
      '--temporal-ui-port <port>',
      "the port of Temporal's UI (default: 8233, or a free one)",
      portOption,
    )
    .action((options: CommonOptions & DevOptions) =>
      run(options, async (context) =>
        (await import('../commands/dev/dev.ts')).runDevCommand(context, options),
      ),
    );

  command(
    'demo',
    'Release a good agent and a broken one, and watch the rollback, on a fresh state',
    'slipway demo',
    'slipway demo --keep',
  )
    .option('--keep', 'keep everything running at the end until Ctrl-C, to inspect it')
    .action((options: CommonOptions & DemoOptions) =>
      run(options, async (context) => (await import('../commands/demo.ts')).runDemoCommand(context, options)),
    );
}

function addServiceCommands({ command, run }: CommandTable): void {
  command(
    'worker',
    'Run a Temporal worker, which carries out releases',
    'SLIPWAY_API_KEY=… slipway worker',
  ).action((options: CommonOptions) =>
    run(options, async (context) => (await import('../commands/worker/worker.ts')).runWorkerCommand(context)),
  );

  command('agent <dir>', "Serve one agent folder's Run API", 'slipway agent examples/greeter --port 8123')
    .option('--port <port>', 'its port; 0 takes a free one', portOption, 8123)
    .option('--host <host>', 'the address that it listens on (default: 127.0.0.1)')
    .option('--config <file>', 'the graph configuration (default: graph.json, or langgraph.json)')
    .action((dir: string, options: CommonOptions & { port: number; host?: string; config?: string }) =>
      run(options, async () => {
        const { port, host, config } = options;
        const { serveAgent } = await loadPlatform(() => import('@slipway/platform/agent'));
        await serveAgent({
          dir,
          port,
          readyLine: options.json === true ? (url) => jsonLine({ event: 'ready', url }) : undefined,
          host,
          config,
        });
        return 0;
      }),
    );
}

function addInstallationCommands({ program, command, group, run }: CommandTable): void {
  command(
    'init',
    'Write a first slipway.yaml for this repository, and a CI file',
    'slipway init',
    'slipway init --yes --ci github --control-plane https://control-plane.example.com',
  )
    .option('--yes', 'ask no questions: use what is found')
    .option('--force', 'overwrite existing files')
    .addOption(
      new Option('--ci <kind>', 'which CI file to write (default: by the git remote)').choices(CI_KINDS),
    )
    .option('--target <name>', "the first target's name (default: staging)")
    .option('--control-plane <url>', 'its control plane (default: that of "slipway dev")')
    .option('--deployment <name>', "the deployment's name there (default: the repository's)")
    .action((options: CommonOptions & InitOptions) =>
      run(options, async (context) => {
        const { stdin: input, stdout: output } = process;
        const terminal = input.isTTY && output.isTTY && !context.output.json ? { input, output } : undefined;
        return (await import('../commands/init/init.ts')).runInitCommand(context, options, {
          folder: process.cwd(),
          terminal,
        });
      }),
    );

  command(
    'doctor',
    'Check what a release needs, and print the command that fixes each problem',
    'slipway doctor --fix',
  )
    .addOption(configOption())
    .option(
      '--fix',
      'register missing search attributes in Temporal; terminate workflows that no worker can continue',
    )
    .action((options: CommonOptions & DoctorCommandOptions) =>
      run(options, async (context) =>
        (await import('../commands/doctor/doctor.ts')).runDoctorCommand(context, options),
      ),
    );

  command(
    'completion <shell>',
    'Print the completion script for bash, zsh or fish',
    'source <(slipway completion bash)',
    'slipway completion fish > ~/.config/fish/completions/slipway.fish',
  )
    .addOption(configOption())
    .action((shell: string, options: CommonOptions & CompletionOptions) =>
      run(options, async (context) => {
        const { completionModel } = await import('../commands/completion/model.ts');
        const { runCompletionCommand } = await import('../commands/completion/completion.ts');
        return runCompletionCommand(context, shell, () => completionModel(program), options);
      }),
    );

  const temporal = group('temporal', 'Temporal on this machine');
  temporal.addCommand(
    withOutputOptions(new Command('install'))
      .description("Find the temporal command, or install it into the user's cache")
      .exitOverride()
      .configureOutput(SILENT)
      .action((options: CommonOptions) =>
        run(options, async (context) =>
          (await import('../commands/temporalInstall.ts')).runTemporalInstallCommand(context),
        ),
      ),
  );
}
