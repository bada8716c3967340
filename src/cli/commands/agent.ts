import { traceVariables } from '../../traces/trace.ts';
import type { CommandContext } from '../context.ts';
import { jsonLine } from '../output.ts';
import { printError } from '../ui/errorReport.ts';
import { loadPlatform } from './platform/loadPlatform.ts';

interface AgentOptions {
  /** 0: a free port. */
  readonly port: number;
  readonly host?: string;
  readonly withoutKey?: boolean;
  readonly config?: string;
}

/** `slipway agent DIR`: serves the Run API of the agent in a folder until SIGTERM or SIGINT. */
export async function runAgentCommand(
  { output, environment }: CommandContext,
  dir: string,
  { port, host, withoutKey: isOpen, config }: AgentOptions,
): Promise<void> {
  const { serveAgent } = await loadPlatform(() => import('@slipway/platform/agent'));
  await serveAgent({
    dir,
    port,
    host,
    isOpen,
    config,
    readyLine: output.json ? (url) => jsonLine({ event: 'ready', url }) : undefined,
    onFailure: (error) => printError(output, error),
    traces: traceVariables(environment),
  });
}
