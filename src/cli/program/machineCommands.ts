import { type Command, Option } from 'commander';

import type { InitOptions } from '../commands/init/init.ts';
import { CI_KINDS } from '../commands/init/repositoryFacts.ts';
import { PORTS } from '../usualPorts.ts';
import { type CommandTable, type Runs, withExamples, withOutputOptions } from './commandTable.ts';
import {
  configOption,
  homeOption,
  isolationOption,
  metricsOption,
  numberOption,
  percentageOption,
  portOption,
} from './options.ts';
import { addPlatformCommands } from './platformCommands.ts';

export function addMachineCommands(table: CommandTable): void {
  addDevelopmentCommands(table);
  addServiceCommands(table);
  addPlatformCommands(table);
  addInstallationCommands(table);
  addHookCommands(table);
}

function addDevelopmentCommands({ command, runs }: CommandTable): void {
  const dev = command(
    'dev',
    'Run everything on this machine: Temporal, the platform, a worker, the dashboard',
    'slipway dev',
  );
  for (const [name, whose] of [
    ['platform', "the control plane's port"],
    ['temporal', "Temporal's port"],
    ['temporalUi', "the port of Temporal's UI"],
    ['dashboard', "the page's port"],
    ['hooks', "the hooks' port"],
  ] as const) {
    const { option, preferred } = PORTS[name];
    dev.option(`${option} <port>`, `${whose} (default: ${preferred}, or a free one)`, portOption);
  }
  dev
    .addOption(isolationOption())
    .action(runs(async () => (await import('../commands/dev/dev.ts')).runDevCommand));

  command(
    'demo',
    'Release a good agent and a broken one, and watch the rollback, on a fresh state',
    'slipway demo',
    'slipway demo --keep',
  )
    .option('--keep', 'keep the page and everything else open at the end, until Ctrl-C')
    .action(runs(async () => (await import('../commands/demo.ts')).runDemoCommand));
}

function addServiceCommands({ version, command, runs }: CommandTable): void {
  const worker = command(
    'worker',
    'Run a Temporal worker, which runs releases',
    'SLIPWAY_API_KEY=… slipway worker',
    'slipway worker --metrics 127.0.0.1:9464',
  )
    .addOption(metricsOption())
    .action(runs(async () => (await import('../commands/worker/worker.ts')).runWorkerCommand, version));
  addRolloutCommand(worker, runs);

  command(
    'dashboard',
    'Serve the page that shows targets, releases and promotions',
    'slipway dashboard',
    'slipway dashboard --metrics 127.0.0.1:9466',
  )
    .option('--port <port>', 'its port; 0 takes a free one', portOption, PORTS.dashboard.preferred)
    .option('--host <host>', 'the address that it listens on', '127.0.0.1')
    .option('--hooks <file>', 'also receive the hooks of this slipway.yaml (default: none)')
    .option(
      '--temporal-ui <url>',
      "the address of Temporal's UI, for links (default: that of slipway dev or Temporal Cloud)",
    )
    .addOption(metricsOption())
    .action(runs(async () => (await import('../commands/dashboard/dashboard.ts')).runDashboardCommand));

  command(
    'codec',
    "Decrypt payloads for Temporal's UI and CLI",
    'slipway codec --origin https://temporal.example.com',
  )
    .option('--port <port>', 'its port; 0 takes a free one', portOption, 8888)
    .option(
      '--host <host>',
      'the address to listen on; addresses other than loopback require SLIPWAY_CODEC_KEY',
      '127.0.0.1',
    )
    .option(
      '--origin <url...>',
      'the pages that may call it from a browser (default: the Temporal UI of slipway dev or Temporal Cloud)',
    )
    .action(runs(async () => (await import('../commands/codec/codec.ts')).runCodecCommand));

  command(
    'agent <dir>',
    'Serve the Run API of the agent in a folder',
    'slipway agent examples/greeter --port 8123',
  )
    .option('--port <port>', 'its port; 0 takes a free one', portOption, 8123)
    .option('--host <host>', 'the address that it listens on (default: 127.0.0.1)')
    .option('--without-key', 'with --host: accept every client on the network, without SLIPWAY_AGENT_API_KEY')
    .option('--config <file>', 'the graph configuration (default: graph.json, or langgraph.json)')
    .action(runs(async () => (await import('../commands/agent.ts')).runAgentCommand));
}

function addRolloutCommand(worker: Command, runs: Runs): void {
  const changes = ['current', 'back', 'moveFrom'];
  const rollout = withOutputOptions(worker.command('rollout [version]'));
  withExamples(
    rollout,
    'slipway worker rollout --ramp 10',
    'slipway worker rollout --current',
    'slipway worker rollout --back --no-replay',
    'slipway worker rollout --move-from 3f9c0a',
  )
    .description('Show the versions of the workers, and choose which one takes new work')
    .addOption(
      new Option('--ramp <percentage>', 'send this share of new work to the version; 0 ends the ramp')
        .argParser(percentageOption)
        .conflicts(changes),
    )
    .addOption(new Option('--current', 'send all new work to the version').conflicts(['back', 'moveFrom']))
    .addOption(
      new Option(
        '--back',
        'end the ramp; without a ramp, send all new work to the previous version',
      ).conflicts('moveFrom'),
    )
    .option(
      '--move-from <version>',
      'move what is pinned to this version to the other one, if it replays there',
    )
    .option('--no-replay', 'change the routing without replaying the running targets and promotions first')
    .action(runs(async () => (await import('../commands/worker/rollout.ts')).runRolloutCommand));
}

function addInstallationCommands({ program, command, fileCommand, runs }: CommandTable): void {
  command(
    'login',
    'Sign in with OIDC, to release and approve on targets that require proof of identity',
    'slipway login',
  ).action(runs(async () => (await import('../commands/identity/login.ts')).runLoginCommand));

  command('logout', 'Remove the sign-in from this machine', 'slipway logout').action(
    runs(async () => (await import('../commands/identity/login.ts')).runLogoutCommand),
  );

  command(
    'init',
    'Write a first slipway.yaml for this repository, and a CI file',
    'slipway init',
    'slipway init --yes --ci github --control-plane https://control-plane.example.com',
  )
    .option('--yes', 'ask no questions: use the detected values')
    .option('--force', 'overwrite existing files')
    .addOption(
      new Option('--ci <kind>', 'which CI file to write (default: by the git remote)').choices(CI_KINDS),
    )
    .option('--target <name>', "the first target's name (default: staging)")
    .option('--control-plane <url>', 'its control plane (default: that of "slipway dev")')
    .option('--deployment <name>', "the deployment's name there (default: the repository's)")
    .action(
      runs(async () => {
        const { runInitCommand } = await import('../commands/init/init.ts');
        return (context, options: InitOptions) => {
          const { stdin: input, stdout: output } = process;
          const terminal =
            input.isTTY && output.isTTY && !context.output.json ? { input, output } : undefined;
          return runInitCommand(context, options, { folder: process.cwd(), terminal });
        };
      }),
    );

  fileCommand(
    'doctor',
    'Check what a release needs, and print the command that fixes each problem',
    'slipway doctor --fix',
  )
    .option(
      '--fix',
      'register missing search attributes in Temporal; terminate workflows that no worker can continue; replace old payload keys',
    )
    .action(runs(async () => (await import('../commands/doctor/doctor.ts')).runDoctorCommand));

  command(
    'completion <shell> [words...]',
    'Print the completion script for bash, zsh or fish',
    'source <(slipway completion bash)',
    'slipway completion fish > ~/.config/fish/completions/slipway.fish',
  ).action(
    runs(async () => {
      const { runCompletionCommand } = await import('../commands/completion.ts');
      return (context, shell: string, words: readonly string[]) =>
        runCompletionCommand(context, program, shell, words);
    }),
  );

  const temporal = program.command('temporal').description('Install Temporal on this machine');
  withOutputOptions(temporal.command('install'))
    .description("Find the temporal command, or install it into the user's cache")
    .addOption(homeOption())
    .action(runs(async () => (await import('../commands/temporalInstall.ts')).runTemporalInstallCommand));
}

function addHookCommands({ fileCommand, runs }: CommandTable): void {
  const hooks = fileCommand(
    'hooks',
    'Receive alerts and other webhooks, and act on them by the rules of slipway.yaml',
    'slipway hooks',
    'slipway hooks --host 0.0.0.0 --port 4702',
    'slipway hooks list',
    'slipway hooks try alerts payload.json',
    'slipway hooks approve 3f9c0a1b2c3d4e5f --reason "seen on the dashboard"',
  )
    .option('--port <port>', 'its port; 0 takes a free one', portOption, PORTS.hooks.preferred)
    .option('--host <host>', 'the address that it listens on', '127.0.0.1')
    .action(runs(async () => (await import('../commands/hooks/hooks.ts')).runHooksCommand));

  const below = (name: string, description: string) =>
    withOutputOptions(hooks.command(name)).description(description).addOption(configOption());

  below('list [hook]', 'List the events that hooks received, and the decisions on them')
    .option('--last <count>', 'how many events of each hook', numberOption, 20)
    .action(runs(async () => (await import('../commands/hooks/hookEvents.ts')).runHookListCommand));

  below('try <hook> <payload>', 'Show what a stored payload would do, without doing it')
    .addOption(new Option('--event <name>', 'for form github: the value of X-GitHub-Event'))
    .action(runs(async () => (await import('../commands/hooks/hookTry.ts')).runHookTryCommand));

  for (const [name, approved, description] of [
    ['approve', true, 'Approve the action that an event requested'],
    ['reject', false, 'Reject the action that an event requested'],
  ] as const) {
    below(`${name} <event>`, description)
      .option('--reason <text>', 'why, for the record')
      .action(
        runs(async () => (await import('../commands/hooks/hookEvents.ts')).runHookAnswerCommand, approved),
      );
  }
}
