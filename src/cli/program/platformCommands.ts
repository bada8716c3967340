import { PAGE_LIMIT } from '@slipway/contract/limits';
import { type Command, Option } from 'commander';

import { PORTS } from '../usualPorts.ts';
import { type CommandTable, type Runs, withExamples } from './commandTable.ts';
import { expiryOption, isolationOption, metricsOption, portOption, wholeNumber } from './options.ts';

/** `slipway platform`, and its subcommands, which call a running platform. */
export function addPlatformCommands({ command, runs }: CommandTable): void {
  const platform = command(
    'platform',
    'Run the platform alone: control plane and agents',
    'slipway platform --port 4700',
    'slipway platform --rate-limit 100 --keep-audit 90',
  );
  platform
    .option('--port <port>', 'its port; 0 takes a free one', portOption, PORTS.platform.preferred)
    .option('--host <host>', 'the address that it listens on (default: 127.0.0.1)')
    .addOption(
      new Option('--database-url <url>', 'any Postgres (default: an embedded one)').env('DATABASE_URL'),
    )
    .addOption(
      new Option('--vocabulary <whose>', 'the field names on the wire: of the contract, or of the public API')
        .choices(['contract', 'public', 'both'])
        .default('both'),
    )
    .addOption(
      new Option('--rate-limit <requests>', 'requests per second of each key; 0: unlimited (default: 500)')
        .env('SLIPWAY_RATE_LIMIT')
        .argParser(wholeNumber(0, 1_000_000)),
    )
    .addOption(
      new Option(
        '--rate-burst <requests>',
        'burst of requests of each key (default: ten seconds of the rate)',
      )
        .env('SLIPWAY_RATE_BURST')
        .argParser(wholeNumber(1, 10_000_000)),
    )
    .addOption(
      new Option('--max-body <megabytes>', 'the largest body of a request to the control plane (default: 1)')
        .env('SLIPWAY_MAX_BODY_MB')
        .argParser(wholeNumber(1, 100)),
    )
    .addOption(
      new Option('--max-upload <megabytes>', 'the largest source that may be uploaded (default: 200)')
        .env('SLIPWAY_MAX_UPLOAD_MB')
        .argParser(wholeNumber(1, 200)),
    )
    .addOption(
      new Option('--keep-audit <days>', 'how long the record of changes is kept (default: 365)')
        .env('SLIPWAY_AUDIT_DAYS')
        .argParser(wholeNumber(1, 36_500)),
    )
    .addOption(metricsOption())
    .addOption(isolationOption())
    .option('--adopt-database', 'use a database that does not belong to the home, from now on')
    .action(runs(async () => (await import('../commands/platform/platform.ts')).runPlatformCommand));

  addIntegrationsCommand(platform, runs);
  addListenersCommand(platform, runs);
  addAccessCommands(platform, runs);
}

function addAccessCommands(platform: Command, runs: Runs): void {
  const access = () => import('../commands/platform/access.ts');
  const keys = platform.command('keys').description('Manage API keys');
  callingCommand(keys, 'create <name>', 'Create a key, and print it once')
    .addOption(
      new Option('--scope <scope>', 'what it may do')
        .choices(['read', 'deploy', 'admin'])
        .makeOptionMandatory(),
    )
    .option('--expires-in <duration>', 'when it expires: 720h (default: never)', expiryOption)
    .action(runs(async () => (await access()).runKeysCreateCommand));
  callingCommand(keys, 'list', 'List the keys of the tenant')
    .option('--revoked', 'list revoked keys, too')
    .action(runs(async () => (await access()).runKeysListCommand));
  callingCommand(keys, 'revoke <id>', 'Revoke a key immediately').action(
    runs(async () => (await access()).runKeysRevokeCommand),
  );
  const secrets = platform.command('secrets').description('Manage the secrets that the platform stores');
  callingCommand(secrets, 'rotate', 'Encrypt the stored secrets with a new master key').action(
    runs(async () => (await access()).runSecretsRotateCommand),
  );
  callingCommand(platform, 'audit', 'List who changed what')
    .option('--last <count>', 'how many changes, at most 100', wholeNumber(1, PAGE_LIMIT.max), 20)
    .option('--operation <name>', 'only these: createDeployment, patchDeployment, …')
    .option('--resource <id>', 'only changes of this deployment, revision or key')
    .action(runs(async () => (await access()).runPlatformAuditCommand));
}

const resources = () => import('../commands/platform/controlPlaneCommands.ts');

function addIntegrationsCommand(platform: Command, runs: Runs): void {
  const integrations = withExamples(
    platform.command('integrations'),
    'slipway platform integrations add acme --prefix https://github.com/acme --credential env:GITHUB_TOKEN',
    'slipway platform integrations add local --prefix /srv/git',
    'slipway platform integrations list --json',
  ).description('Manage the git repositories that deployments build from (docs/git-sources.md)');

  callingCommand(integrations, 'add <name>', 'Register an integration')
    .requiredOption('--prefix <url>', 'the common prefix of its repository addresses')
    .option('--credential <reference>', "env:NAME or file:/path of the platform's machine: token or ssh key")
    .option('--username <name>', 'the user name for a token (default: x-access-token)')
    .option('--webhook-secret <reference>', 'env:NAME or file:/path of the secret that signs its pushes')
    .action(runs(async () => (await resources()).runIntegrationsAddCommand));
  callingCommand(integrations, 'list', 'List the integrations').action(
    runs(async () => (await resources()).runIntegrationsListCommand),
  );
  callingCommand(integrations, 'remove <name>', 'Remove an integration that no deployment uses').action(
    runs(async () => (await resources()).runIntegrationsRemoveCommand),
  );
}

function addListenersCommand(platform: Command, runs: Runs): void {
  const listeners = withExamples(
    platform.command('listeners'),
    'slipway platform listeners add production-eu --type cluster --namespace agents agents-staging',
    'slipway platform listeners add this-machine --type docker',
    'slipway platform listeners list --json',
  ).description('Manage listeners, which deploy to your own compute; deployments name one in listener_id');

  callingCommand(listeners, 'add <compute-id>', 'Register a listener, under the name of its compute')
    .addOption(
      new Option('--type <type>', "the compute type; docker: the engine of the platform's machine")
        .choices(['cluster', 'docker'])
        .makeOptionMandatory(),
    )
    .option('--namespace <name...>', 'cluster namespaces that deployments may use (default: any)')
    .option('--listener-version <version>', 'the version of the listener')
    .action(runs(async () => (await resources()).runListenersAddCommand));
  callingCommand(listeners, 'list', 'List the listeners').action(
    runs(async () => (await resources()).runListenersListCommand),
  );
  callingCommand(listeners, 'remove <compute-id>', 'Remove a listener that no deployment uses').action(
    runs(async () => (await resources()).runListenersRemoveCommand),
  );
}

function callingCommand(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .option('--url <url>', "the platform's address (default: SLIPWAY_PLATFORM_URL, or from the home)")
    .option('--tenant <id>', "one of the key's tenants (default: its first)");
}
