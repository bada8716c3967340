import { errorText } from '@slipway/contract/codedError';

import { CONFIG_FILE } from '../../../config/findConfig.ts';
import { slipwayHome } from '../../../config/home.ts';
import { type LintedConfig, lintConfig } from '../../../config/loadConfig.ts';
import { onSlipwayError } from '../../../domain/errors.ts';
import type { CommandContext } from '../../context.ts';
import { interruptible, untilAborted } from '../../interruption.ts';
import type { Output } from '../../output.ts';
import { PORTS } from '../../usualPorts.ts';
import { type LocalStack, type LocalStackOptions, startLocalStack } from './localStack.ts';
import type { SupervisorEvent } from './service.ts';

interface DevOptions {
  readonly port?: number;
  readonly temporalPort?: number;
  readonly temporalUiPort?: number;
  readonly dashboardPort?: number;
  readonly hooksPort?: number;
  readonly isolation?: 'container' | 'process';
}

/** `slipway dev`: runs everything on one machine, until Ctrl-C. That stops everything in order, the worker first. */
export async function runDevCommand(
  { output, home, environment }: CommandContext,
  options: DevOptions,
): Promise<void> {
  return interruptible(async (signal) => {
    try {
      const stack = await startLocalStack({
        home,
        environment: { ...environment, SLIPWAY_ISOLATION: options.isolation },
        ports: {
          platform: options.port,
          temporal: options.temporalPort,
          temporalUi: options.temporalUiPort,
          dashboard: options.dashboardPort,
          hooks: options.hooksPort,
        },
        ...(await fileWithHooks()),
        onProgress: (line) => output.progress(output.style.faint(line)),
        onEvent: (event) => printEvent(output, event),
        signal,
      });
      try {
        printReady(output, stack, options.port);
        await printNextStep(output, home);
        await untilAborted(signal);
        output.note('stopping; running work gets a moment to finish (Ctrl-C again to stop immediately)');
      } finally {
        await stack.stop();
      }
      output.event({ event: 'stopped' });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  });
}

function printReady(
  output: Output,
  { state, hooks, apiKey, logs }: LocalStack,
  askedPort: number | undefined,
): void {
  output.event({
    event: 'ready',
    controlPlane: state.controlPlane,
    temporal: state.temporal.address,
    temporalUi: state.temporal.ui,
    dashboard: state.dashboard,
    hooks,
    apiKey,
  });
  const { style } = output;
  output.print(`${style.mark(true)} ${style.strong('Slipway is ready')}`);
  output.print(`  control plane  ${state.controlPlane}   (its API key: ${state.apiKeyFile})`);
  output.print(`  dashboard      ${state.dashboard}`);
  if (hooks !== null) output.print(`  hooks          ${hooks}/hooks/NAME`);
  output.print(`  Temporal       ${state.temporal.address}`);
  output.print(`  Temporal UI    ${state.temporal.ui ?? 'not known'}`);
  output.print(`  logs           ${logs}`);
  const { preferred } = PORTS.platform;
  if (askedPort === undefined && new URL(state.controlPlane).port !== String(preferred)) {
    output.print(style.warn(`  port ${preferred} is in use: set the address above in slipway.yaml`));
  }
}

async function printNextStep(output: Output, home: string): Promise<void> {
  output.print('');
  const found = await foundConfig();
  // An invalid file has no targets to name.
  const targets = found === undefined ? undefined : Object.keys(found.config?.targets ?? {});
  const place = { home, usualHome: home === slipwayHome({}), targets };
  for (const line of nextStep(place)) output.print(line);
  output.print(output.style.faint('Ctrl-C stops everything.'));
}

async function fileWithHooks(): Promise<Pick<LocalStackOptions, 'hooksFile' | 'pageHooksFile'>> {
  const { file, config } = (await foundConfig()) ?? {};
  if (config === undefined || Object.keys(config.hooks).length === 0) return {};
  // Only the control plane knows the names of deployments with an id, and it starts together with the page.
  const hasNames = Object.values(config.targets).every(({ deployment }) => deployment !== undefined);
  return { hooksFile: file, pageHooksFile: hasNames ? file : undefined };
}

/** The `slipway.yaml` that the other commands find, valid or not; `undefined` if there is none. */
function foundConfig(): Promise<LintedConfig | undefined> {
  return lintConfig().catch(onSlipwayError(() => undefined, 'SLIPWAY_CONFIG_NOT_FOUND'));
}

function printEvent(output: Output, event: SupervisorEvent): void {
  const { name } = event;
  switch (event.what) {
    case 'died':
      output.event({ event: 'service', name, state: 'died', restartInMs: event.restartInMs });
      output.warn(`${name} has ended; restarting it`);
      return;
    case 'restarted':
      output.event({ event: 'service', name, state: 'restarted' });
      output.note(`${name} runs again`);
      return;
    case 'not_restarted': {
      const why = errorText(event.error);
      output.event({ event: 'service', name, state: 'not_restarted', reason: why });
      output.note(output.style.bad(`${name} could not be restarted: ${why}`));
      return;
    }
  }
}

interface DevPlace {
  readonly home: string;
  /** Whether other commands in the same folder use this home without `SLIPWAY_HOME`. */
  readonly usualHome: boolean;
  readonly targets: readonly string[] | undefined;
}

export function nextStep({ home, usualHome, targets }: DevPlace): readonly string[] {
  const [first, ...others] = targets ?? [];
  const command = first === undefined || others.length === 0 ? 'slipway release' : `slipway release ${first}`;
  if (targets !== undefined && usualHome) {
    return ['Next, release in another terminal in this folder:', `  ${command}`];
  }
  const where =
    targets === undefined ? `an agent's folder ("slipway init" writes its ${CONFIG_FILE})` : 'this folder';
  return [`Next, release in another terminal in ${where}:`, `  SLIPWAY_HOME=${shellWord(home)} ${command}`];
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
