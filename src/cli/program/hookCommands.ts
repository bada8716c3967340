import { Option } from 'commander';

import { HOOKS_PORT } from '../usualPorts.ts';
import { type CommandTable, withOutputOptions } from './commandTable.ts';
import { configOption, numberOption, portOption } from './options.ts';

export function addHookCommands({ command, runs }: CommandTable): void {
  const hooks = command(
    'hooks',
    'Receive alerts and other webhooks, and act on them by the rules of slipway.yaml',
    'slipway hooks',
    'slipway hooks --host 0.0.0.0 --port 4702',
    'slipway hooks list',
    'slipway hooks try alerts payload.json',
    'slipway hooks approve 3f9c0a1b2c3d4e5f --reason "seen on the dashboard"',
  )
    .addOption(configOption())
    .option('--port <port>', 'its port; 0 takes a free one', portOption, HOOKS_PORT)
    .option('--host <host>', 'the address that it listens on', '127.0.0.1')
    .action(runs(async () => (await import('../commands/hooks/hooks.ts')).runHooksCommand));

  const below = (name: string, description: string) =>
    withOutputOptions(hooks.command(name)).description(description).addOption(configOption());

  below('list [hook]', 'List the events that hooks received, and the decisions on them')
    .option('--last <count>', 'how many events of each hook', numberOption, 20)
    .action(runs(async () => (await import('../commands/hooks/hookList.ts')).runHookListCommand));

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
        runs(async () => (await import('../commands/hooks/hookAnswer.ts')).runHookAnswerCommand, approved),
      );
  }
}
